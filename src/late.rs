//! Recipes that are found while a run goes: their names were not known before.
//!
//! What was found is kept with the record of the run, so that a run that goes on, or is shown again,
//! meets what it met.

use crate::cli::{Global, RunArgs};
use crate::config::Config;
use crate::disk::Disk;
use crate::output::whole_file;
use crate::run::Prepared;
use crate::{Streams, initial, plan, recorded};
use rrc_compiler::emit::add_outputs;
use rrc_compiler::world::World;
use rrc_runtime::driver::Found;
use rrc_vm::codec::{decode, encode};
use rrc_vm::flow::shown_path;
use rrc_vm::plan::Plan;
use rrc_vm::verify::{Verified, verify};
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// The recipe of a name, seen from the file that is run; findings are written to `err`.
pub fn find(
    name: &str,
    number: u64,
    prepared: &Prepared<'_>,
    args: &RunArgs,
    global: &Global,
    err: &mut Vec<u8>,
) -> Result<Found, String> {
    let record = recorded::directory().join(&prepared.settings.run_id);
    let kept = record.join(format!("recipe-{number:016x}.rrb"));
    let plan = match std::fs::read(&kept) {
        Ok(bytes) => decode(&bytes)
            .map_err(|error| error.to_string())
            .and_then(verified)
            .map_err(|words| format!("{}: {words}", kept.display()))?,
        Err(_) => {
            let plan = compiled(name, prepared, args, global, err)?;
            if record.is_dir() {
                whole_file(&kept, &encode(plan.plan())).map_err(|error| error.to_string())?;
            }
            plan
        }
    };
    let mut variables = initial::defaults(plan.plan());
    initial::runner_values(&mut variables, plan.plan(), prepared.runner);
    Ok(Found {
        plan: Rc::new(plan),
        variables,
    })
}

fn verified(plan: Plan) -> Result<Verified, String> {
    verify(plan).map_err(|rejected| rejected.to_string())
}

fn compiled(
    name: &str,
    prepared: &Prepared<'_>,
    args: &RunArgs,
    global: &Global,
    err: &mut Vec<u8>,
) -> Result<Verified, String> {
    let config = Arc::new(Config::find(prepared.file, global)?);
    let path = Disk::new(global, &config)
        .find_recipe(name, prepared.file)
        .ok_or_else(|| format!("there is no recipe `{}`", shown_path(name)))?;
    let mut nowhere = io::sink();
    let mut streams = Streams {
        out: &mut nowhere,
        err,
    };
    let wrong = || format!("the recipe `{}` does not compile", shown_path(name));
    let found = plan::compile(&path, None, &args.secret, &config, global, &mut streams);
    let compiled = found.map_err(|error| error.to_string())?;
    let mut compiled = compiled.map_err(|_| wrong())?;
    add_outputs(&mut compiled.plan, &compiled.program);
    verified(compiled.plan)
}
