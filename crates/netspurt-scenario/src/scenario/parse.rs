//! Reads texts as scenarios and sweeps.

use std::sync::Arc;

use super::document::Document;
use super::error::ScenarioError;
use super::grid::Grid;
use super::sweep::Sweep;
use super::whole::Scenario;

impl Scenario {
    /// Reads the text of a scenario. Errors call the text `name`.
    ///
    /// # Errors
    /// When the text is not a scenario, or the scenario is inconsistent.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::read(Document::new(name, text))
    }

    /// Does the same as [`parse`](Self::parse). `files` has the files that the scenario may name,
    /// as pairs of a name and a text.
    ///
    /// # Errors
    /// For the same reasons as [`parse`](Self::parse).
    pub fn parse_with(
        name: &str,
        text: &str,
        files: Vec<(String, String)>,
    ) -> Result<Self, ScenarioError> {
        Self::read(Document::new(name, text).with_files(files))
    }

    /// Returns the scenario with `values`: pairs of a dotted path and the value to set there. A
    /// value that is neither TOML nor a whole number is taken as text.
    ///
    /// # Errors
    /// For the same reasons as [`parse`](Self::parse).
    pub fn with(&self, values: &[(&str, &str)]) -> Result<Self, ScenarioError> {
        self.with_files(values, Vec::new())
    }

    /// Does the same as [`with`](Self::with). `files` has additional files that the scenario may
    /// name, as pairs of a name and a text.
    ///
    /// # Errors
    /// For the same reasons as [`parse`](Self::parse).
    pub fn with_files(
        &self,
        values: &[(&str, &str)],
        files: Vec<(String, String)>,
    ) -> Result<Self, ScenarioError> {
        self.without(&[], values, files)
    }

    /// Removes the keys at the paths `unset`, and then does the same as
    /// [`with_files`](Self::with_files).
    ///
    /// # Errors
    /// For the same reasons as [`parse`](Self::parse), and when a path in `unset` leads to no key
    /// of the text and to no value that was set before.
    pub fn without(
        &self,
        unset: &[&str],
        values: &[(&str, &str)],
        files: Vec<(String, String)>,
    ) -> Result<Self, ScenarioError> {
        let mut document = self.document.clone();
        for path in unset {
            document = document.without(path)?;
        }
        let set = |document: Document, (path, value): &(&str, &str)| document.with(path, value);
        Self::read(values.iter().fold(document, set).with_files(files))
    }

    fn read(document: Document) -> Result<Self, ScenarioError> {
        let mut scenario = Self::of(document)?;
        scenario.grid = Grid::of(&scenario.document, &scenario.spec)?.map(Arc::new);
        Ok(scenario)
    }

    /// The cases of the scenario's `[sweep]`; `None` if the scenario has no `[sweep]`.
    pub fn sweep(&self) -> Option<Sweep> {
        Sweep::of(self.grid.clone()?, &self.document, &self.spec)
    }
}
