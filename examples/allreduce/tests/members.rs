//! Several processes under a real `mpirun`, on embedded services and on one `uromd`.

use anyhow::Result;
use urom_tests::program::{LONG, Running};
use urom_tests::{PluginDirectory, Uromd, mpirun};

fn members(plugins: &PluginDirectory, count: u32, arguments: &[&str]) -> Result<Vec<String>> {
    let mut command = mpirun(count, plugins.path());
    command.env("UROM_PLUGIN_PATH", plugins.variable());
    command.arg(env!("CARGO_BIN_EXE_allreduce")).args(arguments);
    Ok(Running::start(command)?.end(LONG)?.succeeded())
}

#[test]
fn every_number_of_members_has_the_right_result() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_allreduce"])?;
    let daemon = Uromd::start_with(plugins.variable(), |command| command.args(["-l", "10"]))?;
    for count in [1, 2, 3, 4] {
        for service in [&[][..], &["--service", daemon.address()]] {
            let lines = members(&plugins, count, service)?;
            let wanted = format!("{count} members: every result is right");
            assert!(lines.contains(&wanted), "{lines:?}");
        }
    }
    Ok(())
}

#[test]
fn each_size_has_figures_beside_those_of_mpi() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_allreduce"])?;
    let lines = members(&plugins, 2, &["--perf", "--time", "5"])?;
    let rows: Vec<Vec<f64>> = lines
        .iter()
        .map(|line| line.split_whitespace().map_while(|cell| cell.parse().ok()).collect())
        .filter(|row: &Vec<f64>| row.len() == 5)
        .collect();
    assert_eq!(rows.first().map(|row| row[0]), Some(16.0), "{lines:?}");
    assert_eq!(rows.last().map(|row| row[0]), Some(f64::from(4 << 20)), "{lines:?}");
    for row in &rows {
        assert!(row[1] > 0.0 && row[2] > 0.0 && (0.0..=1.0).contains(&row[4]), "{row:?}");
    }
    Ok(())
}
