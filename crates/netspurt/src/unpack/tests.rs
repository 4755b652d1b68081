//! Tests of the streams that read compressed files.

use flate2::Compression;
use flate2::read::GzEncoder;
use proptest::prelude::*;

use super::*;

/// A member of gzip with the contents `octets`.
fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    GzEncoder::new(octets, Compression::fast()).read_to_end(&mut packed).unwrap();
    packed
}

/// A frame of zstd with one block, which has fewer than 256 octets and is not compressed (RFC 8878
/// §3.1.1).
fn zstd(octets: &[u8]) -> Vec<u8> {
    let length = u8::try_from(octets.len()).unwrap();
    let header = [0x28, 0xb5, 0x2f, 0xfd, 0x20, length];
    let block = (u32::from(length) << 3 | 1).to_le_bytes();
    [&header, &block[..3], octets].concat()
}

/// A skippable frame of zstd, which has no contents (RFC 8878 §3.1.2).
const SKIPPED: [u8; 11] = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];

/// Reads the whole contents of a file.
fn all(source: impl Read) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    Unpacked::new(source)?.read_to_end(&mut contents)?;
    Ok(contents)
}

/// A source that returns one octet at a time, each after an interruption.
struct Interrupted<'a>(&'a [u8], bool);

impl Read for Interrupted<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = out.len().min(1);
        self.0.read(&mut out[..most])
    }
}

#[test]
fn the_result_of_reading_a_file_does_not_depend_on_how_much_is_read_at_once() {
    let files = [
        [gzip(b"one\n"), gzip(b""), gzip(b"two\n")].concat(),
        [gzip(b"one\n"), gzip(b"two\n"), vec![0; 3 * ROOM]].concat(),
        [zstd(b"one\n"), SKIPPED.to_vec(), zstd(b""), zstd(b"two\n")].concat(),
        [SKIPPED.to_vec(), zstd(b"one\ntwo\n")].concat(),
        b"one\ntwo\n".to_vec(),
    ];
    for file in files {
        assert_eq!(all(&file[..]).unwrap(), b"one\ntwo\n");
        assert_eq!(all(Interrupted(&file, false)).unwrap(), b"one\ntwo\n");
    }
    for short in [&b""[..], b"a", b"abc"] {
        assert_eq!(all(short).unwrap(), short);
    }
}

#[test]
fn octets_before_a_cut_are_read_and_the_cut_is_reported() {
    for (file, name) in [
        ([gzip(b"whole"), gzip(b"some text of some length")].concat(), "gzip: "),
        ([gzip(b"whole"), b"no member".to_vec()].concat(), "gzip: other octets follow"),
        ([zstd(b"whole"), zstd(b"some text of some length")].concat(), "zstd: "),
        ([zstd(b"whole"), SKIPPED.to_vec()].concat(), "zstd: the file ends"),
    ] {
        let mut reader = Unpacked::new(&file[..file.len() - 2]).unwrap();
        let mut first = [0; 5];
        reader.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"whole");
        let error = reader.read_to_end(&mut Vec::new()).unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
}

/// A frame of zstd with `count` blocks of 100 octets that are not compressed. If `checked` is true,
/// the frame has a checksum. The decoder of this frame keeps the last 128 KiB of the contents,
/// because later blocks may repeat them (RFC 8878 §3.1.1.1.2).
fn blocks(count: u8, checked: bool) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, if checked { 4 } else { 0 }, 0x38];
    for n in 0..count {
        let header = (100_u32 << 3 | u32::from(n + 1 == count)).to_le_bytes();
        frame.extend(&header[..3]);
        frame.extend([n; 100]);
    }
    frame.extend(if checked { &[0; 4][..] } else { &[] });
    frame
}

#[test]
fn if_a_frame_is_cut_each_of_its_whole_blocks_is_read() {
    for checked in [false, true] {
        let whole = blocks(5, checked);
        for (end, octets) in
            [(whole.len() - 1, if checked { 500 } else { 400 }), (6 + 150, 100), (6, 0)]
        {
            let mut contents = Vec::new();
            let mut reader = Unpacked::new(&whole[..end]).unwrap();
            let error = reader.read_to_end(&mut contents).unwrap_err().to_string();
            assert_eq!(
                (contents.len(), &error[..]),
                (octets, "zstd: the file ends within a frame")
            );
            assert!(contents.iter().enumerate().all(|(at, octet)| at / 100 == usize::from(*octet)));
        }
    }
}

/// Each block of this test's file repeats one octet. So four octets of the file give 128 KiB of
/// contents (RFC 8878 §3.1.1.2).
#[test]
fn contents_far_longer_than_the_octets_read_so_far_are_refused() {
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x38];
    for _ in 0..1000 {
        bomb.extend([2, 0, 16, 0]);
    }
    let mut reader = Unpacked::new(&bomb[..]).unwrap();
    let (mut room, mut length) = (vec![0; 1 << 17], 0);
    let error = loop {
        match reader.read(&mut room) {
            Ok(count) => length += count as u64,
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("more than 10000 times its length"), "{error}");
    assert!((ANY_RATIO - (1 << 17)..=ANY_RATIO).contains(&length), "{length}");
}

proptest! {
    #[test]
    fn hostile_octets_cause_no_panic(octets: Vec<u8>, magic in 0_usize..3, at: u16, octet: u8) {
        let magics: [&[u8]; 3] = [&[0x1f, 0x8b, 8], &[0x28, 0xb5, 0x2f, 0xfd], &SKIPPED];
        let _ = all(&[magics[magic], &octets].concat()[..]);
        let mut file = if magic == 0 { gzip(&octets) } else { zstd(&octets[..octets.len().min(255)]) };
        let at = usize::from(at) % file.len();
        file[at] = octet;
        let _ = all(&file[..]);
    }

    #[test]
    fn compressed_contents_are_read_back(octets: Vec<u8>) {
        prop_assert_eq!(all(&gzip(&octets)[..]).unwrap(), &octets[..]);
        let short = &octets[..octets.len().min(255)];
        prop_assert_eq!(all(&zstd(short)[..]).unwrap(), short);
    }
}
