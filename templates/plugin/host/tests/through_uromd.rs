//! Tests host and plugin with `uromd` and its worker process, over UCX.

use std::time::Duration;

use protocol::Protocol;

use urom_host::test_util::{Uromd, plugin};
use urom_host::{DocaError, Service, block_on_for};

const PLUGIN: &str = "example-plugin";
const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn sums_come_back_and_values_without_a_sum_are_refused() -> urom_host::Result<()> {
    let uromd = Uromd::start(plugin(PLUGIN)?)?;
    let service = Service::builder()
        .address(uromd.address())
        .connect_blocking()?;
    let plugin = service.plugin::<Protocol>()?;
    block_on_for(LIMIT, async {
        let worker = service.worker().plugin(&plugin).start().await?;
        let accumulate = |values: &[f64]| plugin.task_accumulate(&worker, values).submit();

        let answer = accumulate(&[1.0, 2.5])?.await?;
        assert_eq!((answer.sum, answer.count), (3.5, 2));

        let refused = accumulate(&[f64::NAN])?.await;
        let code = refused.map_err(|error| error.code());
        assert_eq!(code, Err(DocaError::INVALID_VALUE));

        // The refused values changed nothing.
        let answer = accumulate(&[])?.await?;
        assert_eq!((answer.sum, answer.count), (3.5, 2));
        worker.stop().await
    })?
}
