//! Which addresses a connection may lead to.
//!
//! The list is positive: an address is reached if everybody on the internet could reach it, or if it is private and the user granted that very
//! address. This machine, its link, the metadata services of clouds and every reserved range are never reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// Who can reach an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// Nobody may: this machine, the link, metadata, reserved ranges.
    Never,
    /// Whoever is in the same private network.
    Private,
    /// Everybody.
    Global,
}

/// Services of clouds for their own machines. Some have addresses that look like anybody's; those on the link are covered by its range.
const METADATA_V4: [(Ipv4Addr, u8); 4] = [
    // Azure: https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    // Alibaba Cloud keeps metadata (100.100.100.200), names and time in this range.
    (Ipv4Addr::new(100, 100, 0, 0), 16),
    // Volcano Engine and others keep theirs here.
    (Ipv4Addr::new(100, 96, 0, 0), 16),
    // IBM Cloud: names, time and packages of its machines.
    (Ipv4Addr::new(161, 26, 0, 0), 16),
];
const METADATA_V6: [(Ipv6Addr, u8); 5] = [
    // Amazon: metadata, time and names.
    (Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0), 32),
    // Google: fd20:ce::254.
    (Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0), 32),
    // Oracle: fd00:c1::a9fe:a9fe.
    (Ipv6Addr::new(0xfd00, 0x00c1, 0, 0, 0, 0, 0, 0), 32),
    // Scaleway: fd00:42::42.
    (Ipv6Addr::new(0xfd00, 0x0042, 0, 0, 0, 0, 0, 0), 32),
    // Whoever writes the usual address of IPv4 at the end of a private one.
    (Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe), 128),
];

/// Private networks (RFC 1918, RFC 6598).
const PRIVATE_V4: [(Ipv4Addr, u8); 4] = [
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
];
/// What the registry of special addresses (RFC 6890) holds beside them.
const RESERVED_V4: [(Ipv4Addr, u8); 11] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    // It holds 192.0.0.192, metadata of Oracle's older cloud.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];
/// The part of IPv6 that is given out.
const GLOBAL_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// What of it is not for machines, or leads to an address of IPv4.
const RESERVED_V6: [(Ipv6Addr, u8); 4] = [
    // Protocols, Teredo among them.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0x0db8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];
const PRIVATE_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7);
/// Where a translator stands for the whole of IPv4 (RFC 6052).
const TRANSLATED: (Ipv6Addr, u8) = (Ipv6Addr::new(0x0064, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Returns who can reach an address. This machine's own addresses are told apart by [`is_own`].
pub(super) fn scope(address: IpAddr) -> Scope {
    match address {
        IpAddr::V4(address) => scope_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            // To the kernel it is that address.
            Some(inner) => scope_v4(inner),
            None => scope_v6(address),
        },
    }
}

fn scope_v4(address: Ipv4Addr) -> Scope {
    let is_in = |ranges: &[(Ipv4Addr, u8)]| {
        ranges.iter().any(|(range, bits)| {
            let mask = u32::MAX << (32 - u32::from(*bits));
            address.to_bits() & mask == range.to_bits()
        })
    };
    match () {
        () if is_in(&METADATA_V4) || is_in(&RESERVED_V4) => Scope::Never,
        () if is_in(&PRIVATE_V4) => Scope::Private,
        () => Scope::Global,
    }
}

fn scope_v6(address: Ipv6Addr) -> Scope {
    let is_in = |(range, bits): &(Ipv6Addr, u8)| {
        let mask = u128::MAX << (128 - u32::from(*bits));
        address.to_bits() & mask == range.to_bits()
    };
    let [.., high, low] = address.segments();
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    match () {
        // Where all of IPv4 is behind a translator, hosts have only such addresses.
        () if is_in(&TRANSLATED) => match scope_v4(Ipv4Addr::new(a, b, c, d)) {
            Scope::Global => Scope::Global,
            Scope::Private | Scope::Never => Scope::Never,
        },
        () if METADATA_V6.iter().any(is_in) || RESERVED_V6.iter().any(is_in) => Scope::Never,
        () if is_in(&PRIVATE_V6) => Scope::Private,
        () if is_in(&GLOBAL_V6) => Scope::Global,
        () => Scope::Never,
    }
}

/// Names that lead to this machine or to a metadata service wherever they are looked up.
const NEVER: [&str; 6] = [
    "localhost",
    "localhost.localdomain",
    "ip6-localhost",
    "ip6-loopback",
    "metadata.google.internal",
    "instance-data",
];

/// Returns true for a host that no grant opens, by its name or address alone: this machine, its link, metadata services and reserved addresses. An
/// address that is not written as four numbers is none: what it leads to depends on who reads it.
pub fn is_never_reached(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if let Ok(address) = host.parse::<IpAddr>() {
        return match scope(address) {
            Scope::Never => true,
            Scope::Private => address.is_ipv6(),
            Scope::Global => false,
        };
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    is_number || NEVER.contains(&host.as_str()) || host.ends_with(".localhost")
}

/// Returns true for an address that this machine itself has: only those can be bound.
pub(super) fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_everybody_can_reach_is_reached() {
        use Scope::{Global, Never, Private};
        for (address, expected) in [
            ("93.184.216.34", Global),
            ("1.1.1.1", Global),
            ("2606:4700::1111", Global),
            ("2a00:1450:4001::200e", Global),
            // This machine, nobody, everybody.
            ("127.0.0.1", Never),
            ("127.8.8.8", Never),
            ("0.0.0.0", Never),
            ("0.1.2.3", Never),
            ("::1", Never),
            ("::", Never),
            ("224.0.0.251", Never),
            ("255.255.255.255", Never),
            ("240.0.0.1", Never),
            ("ff02::1", Never),
            // The link.
            ("169.254.1.1", Never),
            ("fe80::1", Never),
            ("fe80::a9fe:a9fe", Never),
            ("febf::1", Never),
            ("fec0::1", Never),
            // Metadata and services of clouds.
            ("169.254.169.254", Never),
            ("169.254.170.2", Never),
            ("168.63.129.16", Never),
            ("100.100.100.200", Never),
            ("100.96.0.96", Never),
            ("192.0.0.192", Never),
            ("161.26.0.10", Never),
            ("fd00:ec2::254", Never),
            ("fd00:ec2::23", Never),
            ("fd20:ce::254", Never),
            ("fd00:c1::a9fe:a9fe", Never),
            ("fd00:42::42", Never),
            ("fd00::a9fe:a9fe", Never),
            // Reserved.
            ("192.0.2.1", Never),
            ("198.18.0.1", Never),
            ("198.19.255.255", Never),
            ("198.51.100.7", Never),
            ("203.0.113.7", Never),
            ("192.88.99.1", Never),
            ("2001:db8::1", Never),
            ("3fff::1", Never),
            ("100::1", Never),
            ("5f00::1", Never),
            ("4000::1", Never),
            // Private.
            ("10.0.0.1", Private),
            ("172.16.0.1", Private),
            ("172.31.255.255", Private),
            ("172.32.0.1", Global),
            ("192.168.1.1", Private),
            ("100.64.0.1", Private),
            ("100.128.0.1", Global),
            ("fc00::1", Private),
            ("fd12:3456::1", Private),
        ] {
            assert_eq!(scope(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn hosts_that_are_never_reached_are_known_by_their_names() {
        for host in [
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "169.254.169.254",
            "168.63.129.16",
            "0.0.0.0",
            "::1",
            "fd12::1",
            "metadata.google.internal",
        ] {
            assert!(is_never_reached(host), "{host}");
        }
        for host in ["example.com", "10.1.2.3", "1.1.1.1", "localhost.example.com", "a.b.c", "x0x1"]
        {
            assert!(!is_never_reached(host), "{host}");
        }
    }

    #[test]
    fn no_way_of_writing_an_address_of_ipv4_widens_it() {
        for inner in ["127.0.0.1", "169.254.169.254", "168.63.129.16", "10.0.0.1", "93.184.216.34"]
        {
            let plain: Ipv4Addr = inner.parse().unwrap();
            let [a, b, c, d] = plain.octets().map(u16::from);
            let (high, low) = (a << 8 | b, c << 8 | d);
            let own = scope(plain.into());
            for (written, is_translated) in [
                // Mapped: the kernel connects to the address inside.
                (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low), false),
                // By a translator.
                (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low), true),
            ] {
                let wanted = match own {
                    Scope::Private if is_translated => Scope::Never,
                    own => own,
                };
                assert_eq!(scope(written.into()), wanted, "{written}");
            }
            // Forms that only ever lead to IPv4 by ways that nobody needs any more: compatible, SIIT, a translator of the network's own,
            // 6to4, Teredo (server, and client with its bits turned), ISATAP.
            for written in [
                Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, high, low, 0, 0, 0, 0),
                Ipv6Addr::new(0x2001, 0, 1, 1, 0, 0, !high, !low),
                Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0x5efe, high, low),
            ] {
                assert_eq!(scope(written.into()), Scope::Never, "{written}");
            }
        }
    }
}
