//! Converts plain data, such as the data of a scenario, to TOML and back.
//!
//! The crate `toml` has several serializers and deserializers. The compiler had to compile each of
//! them for each type of a scenario. This took half of the compile time of this crate. Here a
//! single reader and a single writer handle all data. The reader knows the place of each value.

use core::fmt::{self, Display};
use core::ops::Range;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Expected, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::{Serialize, forward_to_deserialize_any};
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use super::reword::with_fix;

/// The place of a value in a text; `None` for a value that was not read from a text.
type Span = Option<Range<usize>>;

/// A mistake: the text is not TOML, or a value does not fit at its place.
#[derive(Debug)]
pub(super) struct ReadError {
    pub(super) message: String,
    pub(super) span: Span,
    /// Whether the text is TOML but has a wrong value.
    pub(super) in_value: bool,
}

impl ReadError {
    fn new(message: &str, span: Span) -> Self {
        Self { message: message.to_owned(), span, in_value: true }
    }

    /// Sets the place to `span`, unless the place is already known.
    fn at(mut self, span: Span) -> Self {
        self.span = self.span.or(span);
        self
    }
}

impl Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: Display>(message: T) -> Self {
        Self { message: message.to_string(), span: None, in_value: true }
    }
}

/// Reads a TOML document.
///
/// # Errors
/// When the text is not TOML or does not describe a `T`.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, ReadError> {
    let table = DeTable::parse(text).map_err(|error| {
        let message = error.message().to_owned();
        ReadError { message, span: error.span(), in_value: false }
    })?;
    let span = table.span();
    let whole = FormNode::of_text(DeValue::Table(table.into_inner()), span)?;
    // The parser gives the whole document the span of one of its tables, so this span is not used.
    T::deserialize(FormNode { span: None, ..whole })
}

/// Reads a table of values.
///
/// # Errors
/// When the table does not describe a `T`.
pub(super) fn read_table<T: DeserializeOwned>(table: Table) -> Result<T, ReadError> {
    T::deserialize(FormNode::of_value(Value::Table(table)))
}

/// Returns data as a table of values.
///
/// # Panics
/// When the data is not a table or holds something that TOML cannot express.
pub(super) fn table<T: Serialize>(data: &T) -> Table {
    Table::try_from(data).expect("plain data can be expressed in TOML")
}

/// Returns data as a TOML document.
pub(super) fn write<T: Serialize>(data: &T) -> String {
    table(data).to_string()
}

/// A value and its place.
struct FormNode {
    kind: FormKind,
    span: Span,
}

enum FormKind {
    Text(String),
    Integer(i64),
    /// An integer that does not fit into 64 bits with a sign.
    Large(i128),
    Float(f64),
    Boolean(bool),
    Date,
    List(Vec<FormNode>),
    Table(Vec<Entry>),
}

struct Entry {
    key: String,
    key_span: Span,
    node: FormNode,
}

impl FormNode {
    fn of_text(value: DeValue<'_>, span: Range<usize>) -> Result<Self, ReadError> {
        let place = Some(span);
        let kind = match value {
            DeValue::String(text) => FormKind::Text(text.into_owned()),
            DeValue::Integer(number) => {
                let digits = i128::from_str_radix(number.as_str(), number.radix());
                let number = digits.map_err(|_| too_large(place.clone()))?;
                i64::try_from(number).map_or(FormKind::Large(number), FormKind::Integer)
            }
            DeValue::Float(number) => {
                let text = number.as_str();
                let finite = |f: &f64| !f.is_infinite() || text.contains("inf");
                let number = text.parse().ok().filter(finite);
                FormKind::Float(number.ok_or_else(|| too_large(place.clone()))?)
            }
            DeValue::Boolean(value) => FormKind::Boolean(value),
            DeValue::Datetime(_) => FormKind::Date,
            DeValue::Array(list) => {
                let node = |entry: toml::Spanned<DeValue<'_>>| {
                    let span = entry.span();
                    FormNode::of_text(entry.into_inner(), span)
                };
                FormKind::List(list.into_iter().map(node).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => {
                let mut entries = Vec::with_capacity(table.len());
                for (key, value) in table {
                    let (key_span, span) = (Some(key.span()), value.span());
                    let node = FormNode::of_text(value.into_inner(), span)?;
                    entries.push(Entry { key: key.into_inner().into_owned(), key_span, node });
                }
                FormKind::Table(entries)
            }
        };
        Ok(Self { kind, span: place })
    }

    fn of_value(value: Value) -> Self {
        let kind = match value {
            Value::String(text) => FormKind::Text(text),
            Value::Integer(number) => FormKind::Integer(number),
            Value::Float(number) => FormKind::Float(number),
            Value::Boolean(value) => FormKind::Boolean(value),
            Value::Datetime(_) => FormKind::Date,
            Value::Array(list) => {
                FormKind::List(list.into_iter().map(FormNode::of_value).collect())
            }
            Value::Table(table) => {
                let entry =
                    |(key, value)| Entry { key, key_span: None, node: Self::of_value(value) };
                FormKind::Table(table.into_iter().map(entry).collect())
            }
        };
        Self { kind, span: None }
    }
}

/// The error for a number that is too large for any value of a scenario.
fn too_large(place: Span) -> ReadError {
    ReadError::new(&with_fix("this number is too large", "write less than 2^63"), place)
}

impl FormKind {
    /// The error for a value of this kind in a place that requires `expected`.
    fn unexpected(&self, expected: &dyn Expected) -> ReadError {
        let found = match self {
            FormKind::Text(text) => Unexpected::Str(text),
            FormKind::Integer(number) => Unexpected::Signed(*number),
            FormKind::Large(number) => {
                let message = format!("`{number}` is out of range, expected {expected}");
                return ReadError::new(&message, None);
            }
            FormKind::Float(number) => Unexpected::Float(*number),
            FormKind::Boolean(value) => Unexpected::Bool(*value),
            FormKind::Date => Unexpected::Other("date"),
            FormKind::List(_) => Unexpected::Seq,
            FormKind::Table(_) => Unexpected::Map,
        };
        de::Error::invalid_type(found, expected)
    }
}

impl<'de> Deserializer<'de> for FormNode {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let read = match self.kind {
            FormKind::Text(text) => visitor.visit_string(text),
            FormKind::Integer(number) => visitor.visit_i64(number),
            FormKind::Float(number) => visitor.visit_f64(number),
            FormKind::Boolean(value) => visitor.visit_bool(value),
            FormKind::List(list) => visitor.visit_seq(Entries(list.into_iter())),
            FormKind::Table(table) => visitor.visit_map(Fields::new(table)),
            kind @ (FormKind::Large(_) | FormKind::Date) => Err(kind.unexpected(&visitor)),
        };
        read.map_err(|error| error.at(self.span))
    }

    /// Reads a list of exactly `length` values. A visitor ignores the values that it does not need,
    /// so the length is checked here.
    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match &self.kind {
            FormKind::List(list) if list.len() != length => {
                let error: ReadError = de::Error::invalid_length(list.len(), &visitor);
                Err(error.at(self.span))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let read = match self.kind {
            FormKind::Table(table) => visitor.visit_map(Fields::new(table)),
            kind => Err(kind.unexpected(&visitor)),
        };
        read.map_err(|error| error.at(self.span))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let span = self.span.clone();
        let word = match self.kind {
            FormKind::Text(text) => Ok(EnumWord { text, span: self.span, content: None }),
            FormKind::Table(mut table) if table.len() == 1 => {
                let Entry { key, key_span, node } = table.remove(0);
                Ok(EnumWord { text: key, span: key_span, content: Some(node) })
            }
            FormKind::Table(table) => {
                let found = if table.is_empty() { "found 0 elements" } else { "found more than 1" };
                Err(ReadError::new(&format!("wanted exactly 1 element, {found}"), self.span))
            }
            _ => Err(ReadError::new("wanted string or table", self.span)),
        };
        visitor.visit_enum(word?).map_err(|error| error.at(span))
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string seq
        bytes byte_buf map unit
        ignored_any unit_struct tuple_struct identifier
    }
}

/// The fields of a table, in their order.
struct Fields {
    entries: std::vec::IntoIter<Entry>,
    /// The value of the key that was read last.
    value: Option<FormNode>,
}

impl Fields {
    fn new(table: Vec<Entry>) -> Self {
        Self { entries: table.into_iter(), value: None }
    }
}

impl<'de> MapAccess<'de> for Fields {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        let Some(Entry { key, key_span, node }) = self.entries.next() else { return Ok(None) };
        self.value = Some(node);
        let key = seed.deserialize(StrDeserializer::new(&key));
        key.map(Some).map_err(|error: ReadError| error.at(key_span))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let node = self.value.take().expect("a key was read before");
        let span = node.span.clone();
        seed.deserialize(node).map_err(|error| error.at(span))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// The entries of a list, in their order.
struct Entries(std::vec::IntoIter<FormNode>);

impl<'de> SeqAccess<'de> for Entries {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ReadError> {
        self.0.next().map(|node| seed.deserialize(node)).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// A word that names a variant of an `enum` of a scenario.
struct EnumWord {
    text: String,
    span: Span,
    /// The value below the word, if the word is the key of a table.
    content: Option<FormNode>,
}

impl<'de> EnumAccess<'de> for EnumWord {
    type Error = ReadError;
    type Variant = Content;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Content), ReadError> {
        let known = seed.deserialize(StrDeserializer::new(&self.text));
        let known = known.map_err(|error: ReadError| error.at(self.span))?;
        Ok((known, Content(self.content)))
    }
}

/// The value below a word that names a variant. Only a word without such a value is valid.
struct Content(Option<FormNode>);

impl<'de> VariantAccess<'de> for Content {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match self.0 {
            None => Ok(()),
            Some(node) => Err(node.kind.unexpected(&"a word alone").at(node.span)),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, ReadError> {
        Err(de::Error::custom("a word must stand alone, without a value"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, ReadError> {
        Err(de::Error::custom("a word must stand alone, without a value"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ReadError> {
        Err(de::Error::custom("a word must stand alone, without a value"))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize, Serialize)]
    #[serde(rename_all = "kebab-case")]
    enum Colour {
        Red,
        DarkBlue,
    }

    #[derive(Debug, PartialEq, Deserialize, Serialize)]
    #[serde(deny_unknown_fields)]
    struct Flag {
        stripes: Vec<Colour>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pole: Option<Box<Flag>>,
        width: u8,
        height: f64,
    }

    /// The text of a valid `Flag`, in which tests make mistakes.
    const TEXT: &str = "stripes = [\"red\", \"dark-blue\"]\nwidth = 3\nheight = 2\n[pole]\nstripes = []\nwidth = 1\nheight = 0.5\n";

    /// Returns the message of the error for `text`, and the part of the text at its place.
    fn slip(text: &str) -> (String, String) {
        let error = read::<Flag>(text).unwrap_err();
        let span = error.span.expect("an error in a text has a place");
        (error.message, text[span].to_owned())
    }

    #[test]
    fn written_data_is_read_back_unchanged() {
        let flag: Flag = read(TEXT).unwrap();
        assert_eq!((flag.width, flag.height), (3, 2.0));
        assert_eq!(read::<Flag>(&write(&flag)).unwrap(), flag);
        assert_eq!(read_table::<Flag>(table(&flag)).unwrap(), flag);
    }

    #[test]
    fn an_error_has_the_place_of_the_wrong_key_or_value() {
        let (message, place) = slip(&TEXT.replacen("width", "wdith", 1));
        assert!(message.starts_with("unknown field `wdith`, expected one of"), "{message}");
        assert_eq!(place, "wdith");
        let (message, place) = slip(&TEXT.replace("dark-blue", "blue"));
        assert!(message.starts_with("unknown variant `blue`"), "{message}");
        assert_eq!(place, "\"blue\"");
        let (message, place) = slip(&TEXT.replace("width = 1", "width = 300"));
        assert_eq!(message, "invalid value: integer `300`, expected u8");
        assert_eq!(place, "300");
        let (message, place) = slip(&TEXT.replace("width = 1\n", ""));
        assert_eq!(message, "missing field `width`");
        assert_eq!(place, "[pole]");
        let (message, place) = slip("stripes = [\n");
        assert!(message.contains("array"), "{message}");
        assert_eq!(place, "");
    }

    #[test]
    fn a_value_of_another_type_is_refused_at_its_place() {
        for (value, found) in [
            ("1979-05-27", "invalid type: date"),
            ("99999999999999999999", "`99999999999999999999` is out of range"),
            ("[1]", "invalid type: sequence"),
            ("{ a = 1 }", "invalid type: map"),
            ("true", "invalid type: boolean `true`"),
        ] {
            let (message, place) = slip(&TEXT.replace("width = 3", &format!("width = {value}")));
            assert_eq!(message, format!("{found}, expected u8"));
            assert_eq!(place, value);
        }
        let (message, place) = slip("stripes = []\nwidth = 1\nheight = 1\npole = [[], 1, 1]\n");
        assert_eq!(message, "invalid type: sequence, expected struct Flag");
        assert_eq!(place, "[[], 1, 1]");
    }

    #[test]
    fn only_a_word_without_a_value_names_a_variant_of_an_enum() {
        let with = |word: &str| slip(&TEXT.replace("\"dark-blue\"", word)).0;
        assert_eq!(with("3"), "wanted string or table");
        assert_eq!(with("{}"), "wanted exactly 1 element, found 0 elements");
        assert_eq!(with("{ a = 1, b = 1 }"), "wanted exactly 1 element, found more than 1");
        assert!(with("{ blue = {} }").starts_with("unknown variant `blue`"));
        assert_eq!(with("{ red = {} }"), "invalid type: map, expected a word alone");
    }
}
