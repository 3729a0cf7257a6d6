//! The demo's shop: a proxy with few slots, the shop's one thread, and the stock service it awaits.

pub(crate) mod app;
mod store;

use crate::LabError;
use crate::serve::children::Children;
use crate::serve::{Context, Watch, name_process, proxy};

/// Starts all tiers; this process is the proxy, the one that the load meets.
pub(crate) fn start(context: Context) -> Result<(), LabError> {
    name_process("proxy");
    let mut children = Children::default();
    let mut arguments = context.values.pass(&[("stock", "answer")]);
    arguments.extend(named("stock"));
    let stock = children.start("downstream", &arguments)?;
    let mut arguments = context.values.pass(&[("cpu", "cpu")]);
    arguments.extend(named("shop-app"));
    arguments.extend(["--upstream".to_owned(), stock.to_string()]);
    if let Some(folder) = &context.dir {
        arguments.extend(["--dir".to_owned(), folder.display().to_string()]);
    }
    let app = children.start("shop-app", &arguments)?;
    let log = proxy::log_file(&context)?;
    let watch = [
        Watch::Port("shop-app", app),
        Watch::Port("stock", stock),
        Watch::Log(log.path.clone()),
    ];
    proxy::serve(context, vec![app], &log, &watch)
}

fn named(name: &str) -> [String; 2] {
    ["--process-name".to_owned(), name.to_owned()]
}
