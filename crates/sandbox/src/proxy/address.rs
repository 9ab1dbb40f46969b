//! Classifies addresses by who can reach them.
//!
//! This is an allowlist: the proxy connects to globally reachable addresses, and to private addresses that the user
//! granted explicitly. This machine, its local link, cloud metadata services and all reserved ranges are always
//! blocked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// Who can reach an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scope {
    /// Always blocked: this machine, the local link, metadata services, reserved ranges.
    Blocked,
    /// Machines in the same private network.
    Private,
    /// Every machine on the internet.
    Global,
}

/// Services that clouds provide to their own machines. Some of them have addresses that look public. Those on the local
/// link are already covered by its range.
const METADATA_V4: [(Ipv4Addr, u8); 4] = [
    // Azure: https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    // Alibaba Cloud has metadata (100.100.100.200), DNS and NTP in this range.
    (Ipv4Addr::new(100, 100, 0, 0), 16),
    // Volcano Engine and others.
    (Ipv4Addr::new(100, 96, 0, 0), 16),
    // IBM Cloud: DNS, NTP and package mirrors.
    (Ipv4Addr::new(161, 26, 0, 0), 16),
];
const METADATA_V6: [(Ipv6Addr, u8); 5] = [
    // Amazon: metadata, NTP and DNS.
    (Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0), 32),
    // Google: fd20:ce::254.
    (Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0), 32),
    // Oracle: fd00:c1::a9fe:a9fe.
    (Ipv6Addr::new(0xfd00, 0x00c1, 0, 0, 0, 0, 0, 0), 32),
    // Scaleway: fd00:42::42.
    (Ipv6Addr::new(0xfd00, 0x0042, 0, 0, 0, 0, 0, 0), 32),
    // Providers that append the common IPv4 address to a private IPv6 prefix.
    (Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe), 128),
];

/// Private networks (RFC 1918, RFC 6598).
const PRIVATE_V4: [(Ipv4Addr, u8); 4] = [
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
];
/// The other special-purpose addresses of RFC 6890.
const RESERVED_V4: [(Ipv4Addr, u8); 11] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    // Includes 192.0.0.192, the metadata service of Oracle Cloud Classic.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];
/// The part of IPv6 that is assigned for global unicast.
const GLOBAL_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// Ranges in it that are reserved, or that lead to IPv4 addresses.
const RESERVED_V6: [(Ipv6Addr, u8); 4] = [
    // Protocol assignments, including Teredo.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0x0db8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];
const PRIVATE_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7);
/// The NAT64 prefix that represents all of IPv4 (RFC 6052).
const NAT64: (Ipv6Addr, u8) = (Ipv6Addr::new(0x0064, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Returns who can reach an address. This machine's own addresses are recognized by [`is_own`].
pub(super) fn scope(address: IpAddr) -> Scope {
    match address {
        IpAddr::V4(address) => scope_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            // The kernel connects to the embedded address.
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
        () if is_in(&METADATA_V4) || is_in(&RESERVED_V4) => Scope::Blocked,
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
        // In an IPv6-only network with NAT64, IPv4 hosts have only these addresses.
        () if is_in(&NAT64) => match scope_v4(Ipv4Addr::new(a, b, c, d)) {
            Scope::Global => Scope::Global,
            Scope::Private | Scope::Blocked => Scope::Blocked,
        },
        () if METADATA_V6.iter().any(is_in) || RESERVED_V6.iter().any(is_in) => Scope::Blocked,
        () if is_in(&PRIVATE_V6) => Scope::Private,
        () if is_in(&GLOBAL_V6) => Scope::Global,
        () => Scope::Blocked,
    }
}

/// Names that resolve to this machine or to a metadata service.
const BLOCKED_HOSTS: [&str; 6] = [
    "localhost",
    "localhost.localdomain",
    "ip6-localhost",
    "ip6-loopback",
    "metadata.google.internal",
    "instance-data",
];

/// Returns true for a host that no grant can allow, judging by its name or address alone: this machine, its local link,
/// metadata services and reserved addresses. Numeric addresses in other forms, such as `127.1` or `0x7f000001`, are
/// blocked too, because parsers disagree about them.
pub fn is_always_blocked(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    if let Ok(address) = host.parse::<IpAddr>() {
        return match scope(address) {
            Scope::Blocked => true,
            Scope::Private => address.is_ipv6(),
            Scope::Global => false,
        };
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    is_number || BLOCKED_HOSTS.contains(&host.as_str()) || host.ends_with(".localhost")
}

/// Returns true if this machine has the address: only such addresses can be bound.
pub(super) fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_globally_reachable_addresses_are_global() {
        use Scope::{Blocked, Global, Private};
        for (address, expected) in [
            ("93.184.216.34", Global),
            ("1.1.1.1", Global),
            ("2606:4700::1111", Global),
            ("2a00:1450:4001::200e", Global),
            // This machine, unspecified, multicast and broadcast.
            ("127.0.0.1", Blocked),
            ("127.8.8.8", Blocked),
            ("0.0.0.0", Blocked),
            ("0.1.2.3", Blocked),
            ("::1", Blocked),
            ("::", Blocked),
            ("224.0.0.251", Blocked),
            ("255.255.255.255", Blocked),
            ("240.0.0.1", Blocked),
            ("ff02::1", Blocked),
            // The local link.
            ("169.254.1.1", Blocked),
            ("fe80::1", Blocked),
            ("fe80::a9fe:a9fe", Blocked),
            ("febf::1", Blocked),
            ("fec0::1", Blocked),
            // Metadata and other cloud services.
            ("169.254.169.254", Blocked),
            ("169.254.170.2", Blocked),
            ("168.63.129.16", Blocked),
            ("100.100.100.200", Blocked),
            ("100.96.0.96", Blocked),
            ("192.0.0.192", Blocked),
            ("161.26.0.10", Blocked),
            ("fd00:ec2::254", Blocked),
            ("fd00:ec2::23", Blocked),
            ("fd20:ce::254", Blocked),
            ("fd00:c1::a9fe:a9fe", Blocked),
            ("fd00:42::42", Blocked),
            ("fd00::a9fe:a9fe", Blocked),
            // Reserved.
            ("192.0.2.1", Blocked),
            ("198.18.0.1", Blocked),
            ("198.19.255.255", Blocked),
            ("198.51.100.7", Blocked),
            ("203.0.113.7", Blocked),
            ("192.88.99.1", Blocked),
            ("2001:db8::1", Blocked),
            ("3fff::1", Blocked),
            ("100::1", Blocked),
            ("5f00::1", Blocked),
            ("4000::1", Blocked),
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
    fn blocked_hosts_are_recognized_by_name() {
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
            assert!(is_always_blocked(host), "{host}");
        }
        for host in ["example.com", "10.1.2.3", "1.1.1.1", "localhost.example.com", "a.b.c", "x0x1"]
        {
            assert!(!is_always_blocked(host), "{host}");
        }
    }

    #[test]
    fn no_ipv6_form_of_an_ipv4_address_widens_access() {
        for inner in ["127.0.0.1", "169.254.169.254", "168.63.129.16", "10.0.0.1", "93.184.216.34"]
        {
            let plain: Ipv4Addr = inner.parse().unwrap();
            let [a, b, c, d] = plain.octets().map(u16::from);
            let (high, low) = (a << 8 | b, c << 8 | d);
            let own = scope(plain.into());
            for (written, is_translated) in [
                // IPv4-mapped: the kernel connects to the embedded address.
                (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low), false),
                // NAT64.
                (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low), true),
            ] {
                let wanted = match own {
                    Scope::Private if is_translated => Scope::Blocked,
                    own => own,
                };
                assert_eq!(scope(written.into()), wanted, "{written}");
            }
            // Obsolete transition mechanisms: IPv4-compatible, SIIT, local-use NAT64, 6to4, Teredo (server address, and
            // client address with inverted bits), ISATAP.
            for written in [
                Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, high, low, 0, 0, 0, 0),
                Ipv6Addr::new(0x2001, 0, 1, 1, 0, 0, !high, !low),
                Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0x5efe, high, low),
            ] {
                assert_eq!(scope(written.into()), Scope::Blocked, "{written}");
            }
        }
    }
}
