//! Asks the kernel for its route to an address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice};

/// A route of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteInfo {
    /// The device through which packets leave.
    pub device: Option<String>,
    /// The first router; `None` if the target is on the network of the device.
    pub gateway: Option<IpAddr>,
}

const NEW_ROUTE: u16 = libc::RTM_NEWROUTE;
const GET_ROUTE: u16 = libc::RTM_GETROUTE;
/// The total number of octets of the netlink header and of the route header that follows it.
const HEADERS: usize = 16 + 12;

/// Asks the kernel for the route to `target`.
///
/// # Errors
/// When the kernel has no route to `target`, or cannot be asked.
pub fn route_to(target: IpAddr) -> io::Result<RouteInfo> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    rustix::net::send(&socket, &question(target), SendFlags::empty())?;
    let mut answer = [0; 4096];
    let (length, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    let answer = &answer[..length];
    let kind = answer.get(4..6).map(|two| u16::from_ne_bytes([two[0], two[1]]));
    if kind != Some(NEW_ROUTE) {
        return Err(io::Error::from_raw_os_error(libc::ENETUNREACH));
    }
    let mut way = RouteInfo::default();
    for (kind, value) in attributes(answer.get(HEADERS..).unwrap_or_default()) {
        match kind {
            libc::RTA_OIF => {
                let index = value.first_chunk().map(|four| u32::from_ne_bytes(*four));
                let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
                let any = rustix::net::socket_with(family, kind, flags, None)?;
                way.device = index.and_then(|index| netdevice::index_to_name(&any, index).ok());
            }
            libc::RTA_GATEWAY => way.gateway = address(value),
            _ => {}
        }
    }
    Ok(way)
}

/// Returns the netlink message that asks for a route.
fn question(target: IpAddr) -> Vec<u8> {
    let (family, octets) = match target {
        IpAddr::V4(four) => (libc::AF_INET, four.octets().to_vec()),
        IpAddr::V6(six) => (libc::AF_INET6, six.octets().to_vec()),
    };
    let mut message = vec![0; HEADERS];
    message[4..6].copy_from_slice(&GET_ROUTE.to_ne_bytes());
    message[6..8].copy_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    #[expect(clippy::cast_possible_truncation, reason = "families and prefixes have 8 bits")]
    {
        message[16] = family as u8;
        message[17] = 8 * octets.len() as u8;
        message.extend((4 + octets.len() as u16).to_ne_bytes());
    }
    message.extend(libc::RTA_DST.to_ne_bytes());
    message.extend(octets);
    let length = u32::try_from(message.len()).unwrap_or(0);
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message
}

/// Returns the attributes of a message: their kinds and values.
fn attributes(mut rest: &[u8]) -> Vec<(u16, &[u8])> {
    let mut all = Vec::new();
    while let Some(head) = rest.first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let Some(value) = rest.get(4..length) else { break };
        all.push((u16::from_ne_bytes([head[2], head[3]]), value));
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    all
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    match octets.len() {
        4 => Some(Ipv4Addr::from(*octets.first_chunk::<4>()?).into()),
        16 => Some(Ipv6Addr::from(*octets.first_chunk::<16>()?).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_has_its_length_and_its_family_and_the_address() {
        for (target, family, octets) in [("10.1.2.3", 2, 4), ("2001:db8::7", 10, 16)] {
            let target: IpAddr = target.parse().unwrap();
            let message = question(target);
            assert_eq!(message.len(), HEADERS + 4 + octets);
            assert_eq!(message[..4], u32::try_from(message.len()).unwrap().to_ne_bytes());
            assert_eq!(message[4..6], 26_u16.to_ne_bytes(), "RTM_GETROUTE");
            assert_eq!(message[6..8], 1_u16.to_ne_bytes(), "NLM_F_REQUEST");
            assert_eq!((message[16], usize::from(message[17])), (family, 8 * octets));
            let [(kind, value)] = attributes(&message[HEADERS..])[..] else {
                panic!("one attribute")
            };
            assert_eq!((kind, address(value)), (libc::RTA_DST, Some(target)));
        }
    }

    #[test]
    fn reading_ends_at_a_truncated_attribute() {
        let two = [6, 0, 4, 0, 1, 2, 0, 0, 8, 0, 5, 0, 9, 9, 9, 9];
        let all = [(4, &[1, 2][..]), (5, &[9; 4][..])];
        assert_eq!(attributes(&two), all, "values are padded to a multiple of four octets");
        for (length, count) in [(16, 2), (15, 1), (12, 1), (11, 1), (7, 1), (6, 1), (5, 0), (0, 0)]
        {
            assert_eq!(attributes(&two[..length]), all[..count], "{length} octets");
        }
        for length in 0..4 {
            assert!(
                attributes(&[length, 0, 1, 0, 0, 0, 0, 0]).is_empty(),
                "a length below 4 ends the list"
            );
        }
    }

    #[test]
    fn addresses_have_four_octets_or_sixteen() {
        for length in 0..20 {
            let found = address(&vec![1; length]);
            let expected = match length {
                4 => "1.1.1.1".parse().ok(),
                16 => "101:101:101:101:101:101:101:101".parse().ok(),
                _ => None,
            };
            assert_eq!(found, expected, "{length} octets");
        }
    }

    #[test]
    fn loopback_is_reached_by_its_device_without_a_router() {
        let found = route_to(Ipv4Addr::LOCALHOST.into()).unwrap();
        assert_eq!(found, RouteInfo { device: Some("lo".to_owned()), gateway: None });
    }

    proptest! {
        #[test]
        fn attributes_lie_within_the_octets_from_which_they_are_read(octets: Vec<u8>) {
            let carried: usize = attributes(&octets).iter().map(|(_, value)| 4 + value.len()).sum();
            prop_assert!(carried <= octets.len());
        }
    }
}
