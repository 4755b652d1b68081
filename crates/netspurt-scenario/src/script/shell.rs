//! Splits the shell text of a script into commands. Nothing is ever executed. A script is a test in
//! packetdrill's notation.

use core::ops::Range;

/// A command: its words without quotes, the file of its last redirection, and its place in the
/// text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShellCommand {
    pub(super) words: Vec<String>,
    pub(super) target: Option<String>,
    pub(super) span: Range<usize>,
}

/// The commands in `text`. Comments are left out. A command ends at `;`, `&`, `&&`, `|`, `||` or
/// the end of a line.
pub(super) fn commands(text: &str) -> Vec<ShellCommand> {
    let mut reader = WordReader {
        text,
        at: 0,
        found: Vec::new(),
        words: Vec::new(),
        target: None,
        start: 0,
        last: 0,
    };
    while reader.step() {}
    reader.end();
    reader.found
}

/// The commands that run on Linux. Only conditions that name an operating system are evaluated: a
/// condition that names Linux counts as true, and a condition that names another system counts as
/// false. For any other condition, the commands of all branches are returned.
pub(super) fn on_linux(commands: Vec<ShellCommand>) -> Vec<ShellCommand> {
    let mut branches: Vec<ShellBranch> = Vec::new();
    let mut found = Vec::new();
    for mut command in commands {
        match command.words[0].as_str() {
            "if" => branches.push(ShellBranch::of(&command.words)),
            "elif" | "else" => {
                if let Some(branch) = branches.last_mut() {
                    branch.turn(&command.words);
                }
            }
            "fi" => drop(branches.pop()),
            _ => {}
        }
        // `then` and `else` may stand in front of a command on the same line.
        if matches!(command.words[0].as_str(), "then" | "else") {
            command.words.remove(0);
        }
        let runs = branches.iter().all(|branch| branch.runs);
        let is_word =
            matches!(command.words.first().map(String::as_str), None | Some("if" | "elif" | "fi"));
        if runs && !is_word {
            found.push(command);
        }
    }
    found
}

/// A branch of a condition that is being read.
struct ShellBranch {
    /// Whether this branch runs.
    runs: bool,
    /// Whether a condition that names Linux has already chosen a branch.
    chosen: bool,
}

impl ShellBranch {
    /// The systems other than Linux that a condition may name.
    const OTHERS: [&str; 4] = ["FreeBSD", "OpenBSD", "NetBSD", "Darwin"];

    fn of(condition: &[String]) -> Self {
        let names = |system: &str| condition.iter().any(|word| word == system);
        let chosen = names("Linux");
        Self { runs: chosen || !Self::OTHERS.iter().any(|system| names(system)), chosen }
    }

    /// Goes on to the branch with this `elif` or `else`.
    fn turn(&mut self, condition: &[String]) {
        let next = Self::of(condition);
        *self = Self { runs: next.runs && !self.chosen, chosen: self.chosen || next.chosen };
    }
}

struct WordReader<'a> {
    text: &'a str,
    at: usize,
    found: Vec<ShellCommand>,
    words: Vec<String>,
    target: Option<String>,
    /// Where the first word of the command begins.
    start: usize,
    /// Where the last word of the command ends.
    last: usize,
}

impl WordReader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Reads a word, or steps over what separates words. Returns false at the end of the text.
    fn step(&mut self) -> bool {
        let Some(c) = self.rest().chars().next() else { return false };
        if self.rest().starts_with("\\\n") {
            self.at += 2;
        } else if c == '#' {
            let rest = self.rest();
            self.at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(length) = self.rest().strip_prefix("2>&1").map(|_| "2>&1".len()) {
            self.at += length;
        } else if let Some(length) = redirection(self.rest()) {
            self.at += length;
            let target = self.rest().trim_start_matches([' ', '\t']);
            self.at = self.text.len() - target.len();
            let target = self.word();
            if !target.is_empty() {
                self.target = Some(target);
            }
        } else if matches!(c, '\n' | ';' | '&' | '|') {
            self.end();
            self.at += 1;
        } else if c.is_whitespace() {
            self.at += c.len_utf8();
        } else {
            if self.words.is_empty() {
                self.start = self.at;
            }
            let word = self.word();
            self.words.push(word);
            self.last = self.at;
        }
        true
    }

    /// Reads a word. Outside quotes, the word ends at a blank, at one of `; & | < >`, or at a `\`
    /// before the end of a line.
    fn word(&mut self) -> String {
        let (mut word, mut quote) = (String::new(), None);
        while let Some(c) = self.rest().chars().next() {
            match quote {
                None if c == '"' || c == '\'' => quote = Some(c),
                Some(open) if c == open => quote = None,
                None if c.is_whitespace() || matches!(c, ';' | '&' | '|' | '<' | '>') => break,
                None if self.rest().starts_with("\\\n") => break,
                _ if self.rest().starts_with("$((") => {
                    let rest = self.rest();
                    let length = rest.find("))").unwrap_or(rest.len());
                    let text = &rest[3.min(length)..length];
                    word += &product(text).map_or_else(|| text.to_owned(), |n| n.to_string());
                    self.at += (length + 2).min(rest.len());
                    continue;
                }
                _ => word.push(c),
            }
            self.at += c.len_utf8();
        }
        word
    }

    fn end(&mut self) {
        let (words, target) = (core::mem::take(&mut self.words), self.target.take());
        if !words.is_empty() {
            self.found.push(ShellCommand { words, target, span: self.start..self.last });
        }
    }
}

/// The length of the redirection at the start of `text`, as in `2>` or `&>`.
fn redirection(text: &str) -> Option<usize> {
    let marks = ["&>", "2>", "1>", ">>", ">", "<"];
    marks.iter().find(|mark| text.starts_with(**mark)).map(|mark| mark.len())
}

/// The product of whole numbers that are written with `*` between them.
fn product(text: &str) -> Option<u64> {
    text.split('*')
        .try_fold(1_u64, |product, part| product.checked_mul(part.trim().parse::<u64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of each command in `text`.
    fn words(text: &str) -> Vec<Vec<String>> {
        commands(text).into_iter().map(|command| command.words).collect()
    }

    #[test]
    fn commands_end_at_line_ends_and_separators() {
        let text =
            "# why\nsysctl -q a=1 \\\n b=2 > /dev/null 2>&1; tc x # y\nip a && ls || rm 'x y'";
        let expected = [
            vec!["sysctl", "-q", "a=1", "b=2"],
            vec!["tc", "x"],
            vec!["ip", "a"],
            vec!["ls"],
            vec!["rm", "x y"],
        ];
        assert_eq!(words(text), expected);
        assert_eq!(&text[commands(text)[1].span.clone()], "tc x");
        assert_eq!(words("a > f 2>&1 b"), [["a", "b"]]);
    }

    #[test]
    fn only_the_branch_for_linux_runs() {
        let runs = |text: &str| {
            let found = on_linux(commands(text));
            found.into_iter().map(|command| command.words.join(" ")).collect::<Vec<_>>()
        };
        let text =
            "a\nif [ $U = \"Darwin\" ]; then b; elif [ $U = Linux ]; then c\nd; else e; fi\nf";
        assert_eq!(runs(text), ["a", "c", "d", "f"]);
        assert_eq!(
            runs("if [ $U = Linux ]\nthen\n if x; then a; else b; fi\nelse\nc\nfi"),
            ["a", "b"]
        );
        assert_eq!(runs("if [ -f x ]; then a; fi; else; fi; b"), ["a", "b"]);
    }

    #[test]
    fn products_are_multiplied_out_and_incomplete_text_causes_no_panic() {
        assert_eq!(words("a=\"4096 $((3*5)) 7\""), [["a=4096 15 7"]]);
        for odd in ["$((", "$((3", "\"", "'", "$((x))", ">", "2>", "\\"] {
            commands(odd);
        }
    }
}
