//! The kinds of network devices that connect a host to the run.

use serde::{Deserialize, Serialize};

/// The kind of devices that packets cross.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// A pair of veth devices, and a packet socket on the device in the run's namespace.
    #[default]
    Veth,
    /// A TUN device and its file.
    Tun,
}

impl Wire {
    /// The name of this kind of device in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Veth => "veth",
            Self::Tun => "tun",
        }
    }

    /// The kind of device that options call `name`. `None` if there is no such kind.
    ///
    /// ```
    /// use netspurt_live::sandbox::Wire;
    /// assert_eq!(Wire::named("tun"), Some(Wire::Tun));
    /// assert_eq!(Wire::named("tap"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        [Self::Veth, Self::Tun].into_iter().find(|wire| wire.name() == name)
    }
}

/// How hosts are connected to the driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wiring {
    /// The kind of the devices.
    pub wire: Wire,
    /// Whether devices take packets unsegmented and without checksums, as network cards do.
    pub offload: bool,
}

impl Wiring {
    /// Describes the devices in words.
    pub fn description(self) -> String {
        let devices = match self.wire {
            Wire::Veth => "veth + AF_PACKET",
            Wire::Tun => "TUN",
        };
        let offload = if self.offload { ", segmentation offload" } else { "" };
        format!("{devices}{offload}")
    }
}
