//! The profiles: named configurations of senders. Switches change single values of a profile.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, DeserializeSeed, Deserializer};
use serde::{Serialize, Serializer};

use netspurt::plan::{KernelProfile, KernelTcp};
use netspurt::tcp::{NsConfig, RfcConfig};

use super::switch::{SwitchKind, TcpSpec, Words, all_switches};

/// A named set of TCP switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The senders of ns-2.35.
    #[default]
    Ns2,
    /// Reno according to RFC 2001.
    Reno1998,
    /// Reno according to RFC 2581.
    Reno2005,
    /// The RFCs that are in force in 2026.
    Rfc2026,
    /// A simple Reno sender; many scripts use this profile and set only a few switches.
    Plain,
    /// Linux 6.
    Linux6,
    /// The running kernel.
    LinuxDefault,
}

impl Words for Profile {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (
            Self::Ns2,
            "ns-2",
            "the one-way senders of ns-2.35: they count packets, make a handshake only if `handshake` is set, and compute the RTO in ticks",
        ),
        (
            Self::Reno1998,
            "reno-1998",
            "Reno by RFC 2001 on a BSD of that time: half-second ticks, no options but the MSS, initial window 1",
        ),
        (
            Self::Reno2005,
            "reno-2005",
            "Reno by RFC 2581, the timer of RFC 2988, the initial window of RFC 3390: at \
             most four segments, and at most the larger of 4380 octets and two segments",
        ),
        (
            Self::Rfc2026,
            "rfc-2026",
            "the RFCs in force in 2026: RACK-TLP, PRR, F-RTO, Eifel, D-SACK, CUBIC with \
             HyStart++; the initial window of RFC 6928: at most 10 segments, and at most \
             the larger of 14 600 octets and two segments",
        ),
        (
            Self::Plain,
            "plain",
            "`rfc-2026` with Reno, NewReno and an ACK for every segment, and without limited transmit, PRR, tail loss probes, F-RTO, Eifel and Nagle's algorithm; many scripts start from it",
        ),
        (Self::Linux6, "linux-6", "Linux 6 with its defaults and 250 jiffies a second"),
        (
            Self::LinuxDefault,
            "linux-default",
            "the running kernel with Linux's defaults, even if the machine's sysctls differ; only in live runs",
        ),
    ];
}

/// The kind of the value of `profile`: one of the names of the profiles.
const KIND: SwitchKind = SwitchKind::Word(super::switch::words::<Profile>);

impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = (&KIND).deserialize(deserializer)?;
        Ok(word.text().and_then(Self::of_word).unwrap_or_default())
    }
}

impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl JsonSchema for Profile {
    fn schema_name() -> Cow<'static, str> {
        "Profile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = KIND.schema(generator);
        schema.insert("description".to_owned(), "A named set of TCP switches.".into());
        schema
    }
}

impl Profile {
    /// The configuration of a profile whose senders number octets; `None` for ns-2's senders, which
    /// number packets. For `linux-default`, this is the configuration of `linux-6`.
    pub(super) fn rfc(self) -> Option<RfcConfig> {
        match self {
            Self::Ns2 => None,
            Self::Reno1998 => Some(RfcConfig::reno_1998()),
            Self::Reno2005 => Some(RfcConfig::reno_2005()),
            Self::Rfc2026 => Some(RfcConfig::rfc_2026()),
            Self::Plain => Some(RfcConfig::plain()),
            Self::Linux6 | Self::LinuxDefault => Some(RfcConfig::linux_6()),
        }
    }

    /// The configuration of the kernel; `None` if the profile does not apply to kernels.
    pub(super) fn kernel(self) -> Option<KernelTcp> {
        match self {
            Self::Reno1998 => Some(KernelTcp::of(KernelProfile::Reno1998)),
            Self::Reno2005 => Some(KernelTcp::of(KernelProfile::Reno2005)),
            Self::Linux6 | Self::LinuxDefault => Some(KernelTcp::of(KernelProfile::LinuxDefault)),
            Self::Ns2 | Self::Rfc2026 | Self::Plain => None,
        }
    }

    /// The values of all switches of the profile. If the profile is only for kernels, these are the
    /// kernel's switches.
    pub(super) fn spelled_out(self) -> TcpSpec {
        match (self, self.rfc(), self.kernel()) {
            (Self::LinuxDefault, _, Some(kernel)) => all_switches(&kernel),
            (_, Some(config), _) => all_switches(&config),
            _ => all_switches(&NsConfig::default()),
        }
    }
}
