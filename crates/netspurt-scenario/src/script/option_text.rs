//! Reads the option lines of scripts: `--name=value`. A script is in packetdrill's dialect, or in
//! our own, strict dialect.

use netspurt::place::line_of;
use netspurt::units::Duration;

use super::change::SwitchSetting;
use super::cursor::{Cursor, Excerpt};
use super::dialect::ScriptDialect;
use super::document::ScriptOptions;
use super::error::Mistake;

/// The options that both dialects have.
const OPTION_NAMES: [&str; 8] = [
    "title",
    "clause",
    "profile",
    "set",
    "fails_with",
    "tolerance_usecs",
    "tolerance_percent",
    "mss",
];

/// The options of packetdrill's dialect that our own, strict dialect does not have.
const PACKETDRILL_NAMES: [&str; 3] = ["tcp_ts_tick_usecs", "tcp_ts_ecr_scaled", "strict_segments"];

/// packetdrill's options about addresses and about how its own program runs. They change nothing
/// here, but `ip_version=ipv6` is an error.
const WITHOUT_EFFECT: [&str; 14] = [
    "ip_version",
    "bind_port",
    "connect_port",
    "remote_ip",
    "local_ip",
    "gateway_ip",
    "netmask_ip",
    "speed",
    "mtu",
    "non_fatal",
    "send_omit_free",
    "is_anyip",
    "debug",
    "verbose",
];

/// Reads `--name=value`; the value ends at the end of the line or at a comment `//`.
pub(super) fn option_line(
    cursor: &mut Cursor<'_>,
    options: &mut ScriptOptions,
) -> Result<(), Mistake> {
    let line = line_of(cursor.source(), cursor.at());
    cursor.take("--");
    let at = cursor.at();
    let text = cursor.take_while(|c| c != '\n');
    let option = Excerpt::trimmed(&text[..comment_start(text)], at);
    let strict = options.dialect == ScriptDialect::Strict;
    let bare = Excerpt { text: "", at: option.at + option.text.len() };
    let (name, value) = match option.split('=') {
        Some(parts) => parts,
        None if !strict => (option, bare),
        None => {
            let span = option.at..option.at + option.text.len().max(1);
            return Err(Mistake::new(span, "an option needs `=`")
                .fix("write it as in `--title=what this script shows`"));
        }
    };
    if !strict && of_packetdrill(options, &name, &value)? {
        return Ok(());
    }
    if value.text.is_empty() {
        let mistake = Mistake::new(name.span(), format!("the option `{}` has no value", name.text));
        return Err(mistake.fix("write a value after `=`, or remove the line"));
    }
    set_option(options, &name, &value, line)
}

/// Sets an option that only packetdrill has, or that has another meaning in packetdrill. Returns
/// false for any other option.
fn of_packetdrill(
    options: &mut ScriptOptions,
    name: &Excerpt<'_>,
    value: &Excerpt<'_>,
) -> Result<bool, Mistake> {
    match name.text {
        "mss" => {
            let octets = number(value, u16::MAX.into())?;
            options.merged_mss = u16::try_from(octets).ok().filter(|octets| *octets > 0);
        }
        "tcp_ts_tick_usecs" => match number(value, 1_000_000)? {
            0 => options.compares_stamps = false,
            1000 => options.compares_stamps = true,
            _ => {
                let mistake = Mistake::new(value.span(), "our timestamps tick every millisecond");
                return Err(mistake.fix("write 1000, or 0 so that they are not compared"));
            }
        },
        "strict_segments" => options.strict_segments = true,
        "tcp_ts_ecr_scaled" => {}
        "ip_version" if value.text == "ipv6" => {
            let mistake = Mistake::new(value.span(), "scripts play over IPv4 only");
            return Err(mistake.fix("remove the line, and write the packets for IPv4"));
        }
        known => return Ok(WITHOUT_EFFECT.contains(&known)),
    }
    Ok(true)
}

/// The largest segment size: a packet of 65,535 octets without the headers of IPv4 and TCP.
const MSS_MAX: u64 = 65_495;

/// Reads the value of an option, which is a whole number up to `number_max`.
fn number(value: &Excerpt<'_>, number_max: u64) -> Result<u64, Mistake> {
    let number = value.text.parse().ok().filter(|number| *number <= number_max);
    number.ok_or_else(|| {
        let is_number = !value.text.is_empty() && value.text.bytes().all(|b| b.is_ascii_digit());
        let wrong = if is_number { "too large" } else { "not a whole number" };
        let message = format!("`{}` is {wrong}", value.text);
        let span = value.at..value.at + value.text.len().max(1);
        Mistake::new(span, message).fix(format!("write a whole number up to {number_max}"))
    })
}

/// Reads a percentage, as in `12.5`. Returns it in thousandths.
fn per_mille(value: &Excerpt<'_>) -> Result<u32, Mistake> {
    let (whole_percent, part) = value.text.split_once('.').unwrap_or((value.text, "0"));
    let digits = format!("{whole_percent}{part:.1}");
    let is_number = part.len() == 1 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = if is_number { digits.parse::<u32>().ok() } else { None };
    number.filter(|number| *number <= 1000).ok_or_else(|| {
        value.wrong("a percentage", "write up to one decimal, as in `12.5`, and at most 100")
    })
}

fn set_option(
    options: &mut ScriptOptions,
    name: &Excerpt<'_>,
    value: &Excerpt<'_>,
    line: usize,
) -> Result<(), Mistake> {
    let text = value.text.to_owned();
    let is_duplicate = match name.text {
        "title" => !core::mem::replace(&mut options.title, text).is_empty(),
        "profile" => options.profile.replace(text).is_some(),
        "mss" => {
            let mss = u16::try_from(number(value, MSS_MAX)?).expect("at most 16 bits");
            if mss == 0 {
                let mistake = Mistake::new(value.span(), "a segment size of 0 is not possible");
                return Err(mistake.fix("write a whole number from 1, as in `--mss=1460`"));
            }
            options.mss.replace(mss).is_some()
        }
        "tolerance_usecs" => {
            options.tolerance.least = Duration::from_micros(number(value, 1_000_000_000)?);
            false
        }
        "tolerance_percent" => {
            options.tolerance.share_per_mille = per_mille(value)?;
            false
        }
        "clause" => {
            options.clauses.push(text);
            false
        }
        "set" => {
            let new = setting(value, line)?;
            let is_duplicate = options.set.iter().any(|old| old.path == new.path);
            options.set.push(new);
            is_duplicate
        }
        "fails_with" => {
            options.fails_with.push(setting(value, line)?);
            false
        }
        _ => return Err(unknown_option(options.dialect, name)),
    };
    if is_duplicate {
        let what = if name.text == "set" { "switch" } else { "option" };
        let mistake = Mistake::new(name.span(), format!("this {what} is already set"));
        return Err(mistake.fix("set it once"));
    }
    Ok(())
}

/// The mistake of an option that the script's dialect does not have.
fn unknown_option(dialect: ScriptDialect, name: &Excerpt<'_>) -> Mistake {
    if dialect == ScriptDialect::Packetdrill {
        let names = OPTION_NAMES.into_iter().chain(PACKETDRILL_NAMES);
        return Mistake::unknown(name.span(), "option", name.text, names);
    }
    if PACKETDRILL_NAMES.contains(&name.text) || WITHOUT_EFFECT.contains(&name.text) {
        let message = format!("only packetdrill's dialect has the option `{}`", name.text);
        return Mistake::new(name.span(), message)
            .fix("remove the line, or remove `--title=` to write in packetdrill's dialect");
    }
    Mistake::unknown(name.span(), "option", name.text, OPTION_NAMES)
}

/// Reads `path=value`.
fn setting(part: &Excerpt<'_>, line: usize) -> Result<SwitchSetting, Mistake> {
    let fix = "write a switch, `=` and a value in TOML, as in `rto.min=\"1 s\"`";
    let Some((path, value)) = part.split('=') else {
        return Err(Mistake::new(part.span(), "expected a switch and its value").fix(fix));
    };
    let is_key = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    if !path.text.split('.').all(is_key) {
        let span = path.at..path.at + path.text.len().max(1);
        return Err(
            Mistake::new(span, format!("`{}` is not the name of a switch", path.text)).fix(fix)
        );
    }
    if value.text.parse::<toml_edit::Value>().is_err() {
        let span = value.at..value.at + value.text.len().max(1);
        let mistake = Mistake::new(span, format!("`{}` is not a TOML value", value.text));
        return Err(mistake.fix(format!("put a text in quotes: `{}=\"…\"`", path.text)));
    }
    Ok(SwitchSetting { path: path.text.to_owned(), value: value.text.to_owned(), line })
}

/// Returns where a comment outside quotes starts. Without a comment, returns the length of the
/// text.
fn comment_start(text: &str) -> usize {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        if c == '"' {
            quoted = !quoted;
        } else if !quoted && text[at..].starts_with("//") {
            return at;
        }
    }
    text.len()
}
