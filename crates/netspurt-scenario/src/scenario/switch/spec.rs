//! The table `tcp` of a flow: the values that the file gives to switches, which are named settings
//! of TCP.

use core::fmt;
use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::definition::Switch;
use super::kind::{KnownKey, Written};
use super::table::{all, at, find};
use super::value::SwitchValue;

/// Switches of a TCP connection. Switches that are left out have the values of the profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpSpec(BTreeMap<usize, SwitchValue>);

impl TcpSpec {
    /// Returns the settings, in the order of the definitions.
    pub fn given(&self) -> impl Iterator<Item = (&'static Switch, &SwitchValue)> {
        self.0.iter().map(|(place, value)| (at(*place), value))
    }

    /// Returns the setting of the switch `key`, if there is one.
    pub fn get(&self, key: &str) -> Option<&SwitchValue> {
        find(key).and_then(|(place, _)| self.0.get(&place))
    }

    /// Makes a spec with a setting for each switch for which the function `read` returns a value.
    pub fn of_all(read: impl Fn(&'static Switch) -> Option<SwitchValue>) -> Self {
        let value = |(place, switch)| Some((place, read(switch)?));
        Self(all().enumerate().filter_map(value).collect())
    }

    /// Returns a copy of the spec without the settings of these switches.
    pub fn without(&self, keys: &[&str]) -> Self {
        let mut rest = self.clone();
        for (place, _) in keys.iter().filter_map(|key| find(key)) {
            rest.0.remove(&place);
        }
        rest
    }
}

/// What a key of the table `tcp`, or of a table in `tcp`, refers to.
#[derive(Clone, Copy)]
enum KeyTarget {
    Switch(usize, &'static Switch),
    Table(&'static str),
}

/// The keys in a table of `tcp`, or in `tcp` itself, and what they refer to.
fn key_targets(table: Option<&str>) -> Vec<(&'static str, KeyTarget)> {
    let mut targets: Vec<(&'static str, KeyTarget)> = Vec::new();
    for (place, switch) in all().enumerate() {
        match switch.place() {
            (above, key) if above == table => targets.push((key, KeyTarget::Switch(place, switch))),
            (Some(above), _)
                if table.is_none() && !targets.iter().any(|(key, _)| *key == above) =>
            {
                targets.push((above, KeyTarget::Table(above)));
            }
            _ => {}
        }
    }
    targets
}

/// Reads a table of `tcp`, or `tcp` itself, into a spec.
struct Level<'a> {
    spec: &'a mut TcpSpec,
    table: Option<&'static str>,
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of switches")?;
        match self.table {
            Some("rto") => f.write_str("; the switch `rto.estimator` names a timer"),
            _ => Ok(()),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let targets = key_targets(self.table);
        let keys: Vec<&'static str> = targets.iter().map(|(key, _)| *key).collect();
        while let Some(at) = map.next_key_seed(KnownKey(&keys))? {
            match targets[at].1 {
                KeyTarget::Switch(place, switch) => {
                    self.spec.0.insert(place, map.next_value_seed(&switch.kind)?);
                }
                KeyTarget::Table(table) => {
                    map.next_value_seed(Level { spec: &mut *self.spec, table: Some(table) })?;
                }
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for TcpSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut spec = Self::default();
        Level { spec: &mut spec, table: None }.deserialize(deserializer)?;
        Ok(spec)
    }
}

/// Writes a table of `tcp`, or `tcp` itself.
struct Shown<'a> {
    spec: &'a TcpSpec,
    table: Option<&'static str>,
}

impl Shown<'_> {
    fn has_any(&self) -> bool {
        self.spec.given().any(|(switch, _)| switch.place().0 == self.table)
    }
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, target) in key_targets(self.table) {
            match target {
                KeyTarget::Switch(place, switch) => {
                    if let Some(value) = self.spec.0.get(&place) {
                        map.serialize_entry(key, &Written(&switch.kind, value))?;
                    }
                }
                KeyTarget::Table(table) => {
                    let shown = Shown { spec: self.spec, table: Some(table) };
                    if shown.has_any() {
                        map.serialize_entry(key, &shown)?;
                    }
                }
            }
        }
        map.end()
    }
}

impl Serialize for TcpSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Shown { spec: self, table: None }.serialize(serializer)
    }
}

impl JsonSchema for TcpSpec {
    fn schema_name() -> Cow<'static, str> {
        "TcpSpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = table_schema(None, generator);
        let doc = "Switches of a TCP connection; what is left out comes from the profile.";
        schema.insert("description".to_owned(), doc.into());
        schema
    }
}

fn table_schema(table: Option<&str>, generator: &mut SchemaGenerator) -> Schema {
    let mut properties = serde_json::Map::new();
    for (key, target) in key_targets(table) {
        let schema = match target {
            KeyTarget::Switch(_, switch) => {
                let mut schema = switch.kind.schema(generator);
                // A reference to another schema is wrapped. Otherwise the description of the switch
                // would replace the description of that schema.
                if let Some(reference) = schema.remove("$ref") {
                    schema = json_schema!({ "allOf": [{ "$ref": reference }] });
                }
                schema.insert("description".to_owned(), switch.doc.into());
                schema
            }
            KeyTarget::Table(table) => table_schema(Some(table), generator),
        };
        properties.insert(key.to_owned(), schema.to_value());
    }
    json_schema!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}
