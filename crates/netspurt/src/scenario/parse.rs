//! From texts to scenarios and their sweeps.

use std::sync::Arc;

use super::document::Document;
use super::error::ScenarioError;
use super::grid::Grid;
use super::sweep::Sweep;
use super::whole::Scenario;

impl Scenario {
    /// Reads the text of a scenario. Errors call it `name`.
    ///
    /// # Errors
    /// When the text is not a scenario, or the scenario is inconsistent.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::read(Document::new(name, text))
    }

    /// The same with the files that its links follow, by name.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_with(
        name: &str,
        text: &str,
        files: Vec<(String, String)>,
    ) -> Result<Self, ScenarioError> {
        Self::read(Document::new(name, text).with_files(files))
    }

    /// The same with values set over it: dotted paths, and values as TOML or as bare text.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn with(&self, values: &[(&str, &str)]) -> Result<Self, ScenarioError> {
        self.with_files(values, Vec::new())
    }

    /// The same, and with more files that links follow.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn with_files(
        &self,
        values: &[(&str, &str)],
        files: Vec<(String, String)>,
    ) -> Result<Self, ScenarioError> {
        let document = values
            .iter()
            .fold(self.document.clone(), |document, (path, value)| document.with(path, value));
        Self::read(document.with_files(files))
    }

    fn read(document: Document) -> Result<Self, ScenarioError> {
        let mut scenario = Self::of(document)?;
        scenario.grid = Grid::of(&scenario.document, &scenario.spec)?.map(Arc::new);
        Ok(scenario)
    }

    /// Its cases, if it has a `[sweep]`.
    pub fn sweep(&self) -> Option<Sweep> {
        Sweep::of(self.grid.clone()?, &self.document, &self.spec)
    }
}
