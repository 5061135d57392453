//! The plugin and the host of docs/src/c-interface.md compile and work.

use anyhow::{Context, Result, ensure};
use urom_tests::PluginDirectory;
use urom_tests::c::{Host, Service, Source};

const GUIDE: &str = include_str!("../../../docs/src/c-interface.md");

fn block(part: &str) -> Result<&'static str> {
    let blocks = GUIDE.split("\n```c\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let found: Vec<_> = blocks.filter(|code| code.contains(part)).collect();
    let [code] = found[..] else { anyhow::bail!("{} blocks with {part}", found.len()) };
    Ok(code)
}

#[test]
fn the_plugin_and_the_host_of_the_guide_work_together_in_both_services() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let source = |name: &str, part: &str| -> Result<Source> {
        let file = directory.path().join(name);
        std::fs::write(&file, format!("{}\n", block(part)?))?;
        Ok(Source::new(file))
    };
    let plugin = source("plugin.c", "urom_plugin_get_iface")?;
    let host = source("host.c", "int main(void)")?;
    let promise = GUIDE.split("and prints `").nth(1).and_then(|rest| rest.split('`').next());
    let promise = format!("{}\n", promise.context("the guide says what is printed")?);
    for asan in [false, true] {
        let host = Host::new(if asan { host.clone().asan() } else { host.clone() }.program()?);
        let plugins = || -> Result<PluginDirectory> {
            let mut plugins = PluginDirectory::with(&[])?;
            plugins.add(&plugin.plugin("worker_mine")?)?;
            Ok(plugins)
        };
        for service in [Service::daemon(plugins()?)?, Service::embedded(plugins()?)?] {
            let output = host.run(&service)?.success()?;
            ensure!(output.stdout == promise, "{output:?}");
        }
    }
    Ok(())
}
