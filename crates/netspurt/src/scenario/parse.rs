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

    /// As [`parse`](Self::parse), with `files` by name that the scenario's links follow.
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

    /// The scenario with values set over it, each at a dotted path. A value that is not TOML is
    /// taken as text.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn with(&self, values: &[(&str, &str)]) -> Result<Self, ScenarioError> {
        self.with_files(values, Vec::new())
    }

    /// As [`with`](Self::with), and adds files by name that links follow.
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

    /// The cases of the scenario's `[sweep]`; `None` if it has none.
    pub fn sweep(&self) -> Option<Sweep> {
        Sweep::of(self.grid.clone()?, &self.document, &self.spec)
    }
}
