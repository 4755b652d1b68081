//! Reads the text of a sweep's file once for all cases. A case is a run with its own values of some
//! keys. If these keys are in tables of links, flows or echo probes, and the file has these tables,
//! only these tables are read again for the case. Otherwise all tables are read again. For some
//! values, the text itself must be read again. For such values, the functions in this file return
//! `None`, and the caller reads the text.

use indexmap::IndexMap;
use toml::{Table, Value};

use super::axis::{AxisSetting, path_keys};
use super::combination::{Combination, KnownLinks};
use super::document::Document;
use super::echo_probes_spec::EchoProbesSpec;
use super::error::ScenarioError;
use super::flow_spec::FlowSpec;
use super::followed;
use super::form::read_table;
use super::link_spec::LinkSpec;
use super::spec::Spec;

/// A file whose text is read only once, and whose values a case may change.
#[derive(Clone, Debug)]
pub(super) struct Varied {
    table: Table,
    /// The file without a case's values. The defaults of its flows are filled in.
    spec: Spec,
    links: Option<KnownLinks>,
}

/// The sections whose named tables are read one by one.
const OF_PARTS: [&str; 3] = ["links", "flows", "echo_probes"];

/// The section of a named table, and the table's name.
type PartName = (&'static str, String);

impl Varied {
    /// Reads the file of `document`, which must be consistent.
    pub(super) fn new(document: &Document) -> Result<Self, ScenarioError> {
        let mut spec = document.read()?;
        let mut whole = spec.clone();
        whole.fill_in();
        spec.flows.clone_from(&whole.flows);
        Ok(Self { table: document.table()?, links: KnownLinks::of(&whole), spec })
    }

    /// The file as a table.
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// The combination of these values. The text of the file is not read again. Returns `None` if
    /// the text must be read again, because a value may set the key `follows`, or adds a link, a
    /// flow or echo probes. Also returns `None` if the values are invalid.
    pub(super) fn combination<'a>(
        &self,
        settings: impl Iterator<Item = &'a AxisSetting> + Clone,
    ) -> Option<Combination> {
        let Some(parts) = self.parts(settings.clone())? else {
            return self.whole(settings).map(Combination::new);
        };
        let same_links = parts.keys().all(|(kind, _)| *kind != "links");
        let spec = self.with(parts)?;
        Some(match self.links.as_ref().filter(|_| same_links) {
            Some(links) => Combination::with_known_links(spec, links),
            None => Combination::new(spec),
        })
    }

    /// The scenario with these values. `None` for the same reasons as
    /// [`combination`](Self::combination).
    pub(super) fn spec<'a>(
        &self,
        settings: impl Iterator<Item = &'a AxisSetting> + Clone,
    ) -> Option<Spec> {
        match self.parts(settings.clone())? {
            Some(parts) => self.with(parts),
            None => self.whole(settings),
        }
    }

    /// Whether the keys lead into a named table that the file does not have. The place of such a
    /// table among the other tables is known only after the value was set in the text.
    fn names_a_new_part(&self, keys: &[String]) -> bool {
        let [kind, name, ..] = keys else { return false };
        let there = || self.table.get(kind).and_then(|parts| parts.get(name)).is_some();
        OF_PARTS.contains(&kind.as_str()) && !there()
    }

    /// The named tables that the values change, with the changes. `Some(None)` if a value changes
    /// anything else. `None` for the same reasons as [`combination`](Self::combination).
    fn parts<'a>(
        &self,
        settings: impl Iterator<Item = &'a AxisSetting>,
    ) -> Option<Option<IndexMap<PartName, Value>>> {
        let mut parts: IndexMap<PartName, Value> = IndexMap::new();
        for setting in settings {
            let keys = path_keys(setting);
            if names_a_file(setting, &keys) || self.names_a_new_part(&keys) {
                return None;
            }
            let [kind, name, below @ ..] = keys.as_slice() else { return Some(None) };
            let Some(kind) = OF_PARTS.into_iter().find(|known| known == kind) else {
                return Some(None);
            };
            let part = parts.entry((kind, name.clone()));
            let part = part.or_insert_with(|| self.table[kind][name].clone());
            set(part, below, setting.value.clone())?;
        }
        Some(Some(parts))
    }

    /// The scenario in which each table of `parts` replaces the file's table of the same name.
    fn with(&self, parts: IndexMap<PartName, Value>) -> Option<Spec> {
        let mut spec = self.spec.clone();
        for ((kind, name), part) in parts {
            let Value::Table(part) = part else { return None };
            match kind {
                "links" => drop(spec.links.insert(name, read_table::<LinkSpec>(part).ok()?)),
                "flows" => {
                    let mut flow: FlowSpec = read_table(part).ok()?;
                    flow.fill_in();
                    spec.flows.insert(name, flow);
                }
                _ => drop(spec.echo_probes.insert(name, read_table::<EchoProbesSpec>(part).ok()?)),
            }
        }
        spec.fill_in_record();
        Some(spec)
    }

    /// Reads the whole table again, with these values. `None` for the same reasons as
    /// [`combination`](Self::combination).
    fn whole<'a>(&self, settings: impl Iterator<Item = &'a AxisSetting>) -> Option<Spec> {
        let mut table = Value::Table(self.table.clone());
        for setting in settings {
            let keys = path_keys(setting);
            let cannot_be_set = names_a_file(setting, &keys) || self.names_a_new_part(&keys);
            if keys.is_empty() || cannot_be_set {
                return None;
            }
            set(&mut table, &keys, setting.value.clone())?;
        }
        let Value::Table(table) = table else { return None };
        let mut spec: Spec = read_table(table).ok()?;
        spec.fill_in();
        Some(spec)
    }
}

/// Whether a setting may set the key `follows`, which names the file from which a link or a
/// population takes values.
fn names_a_file(setting: &AxisSetting, keys: &[String]) -> bool {
    keys.last().is_some_and(|last| last == followed::KEY)
        || setting.value.to_string().contains(followed::KEY)
}

/// Sets the value at the path `keys` below `value`, and makes the missing tables of the path.
/// `None` if a key of the path leads to something that is not a table.
fn set(mut value: &mut Value, keys: &[String], new: Value) -> Option<()> {
    for key in keys {
        let table = value.as_table_mut()?;
        value = table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()));
    }
    *value = new;
    Some(())
}
