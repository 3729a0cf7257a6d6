//! The examples of the RFC, hostile blocks, and what this side encodes.

use proptest::prelude::*;

use super::*;
use crate::h2::huffman::tests::hex;

type Field = (String, String);

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<Field>, HpackError> {
    let mut found = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    decoder.decode(block, &mut |name: &[u8], value: &[u8]| {
        found.push((text(name), text(value)));
    })?;
    Ok(found)
}

fn fields(all: &[(&str, &str)]) -> Vec<Field> {
    all.iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// Appendix C.4: requests with Huffman coding, each of which uses the table of the one before.
#[test]
fn three_requests_of_the_rfc() {
    let mut decoder = Decoder::default();
    let get = [(":method", "GET"), (":scheme", "http"), (":path", "/")];
    let host = (":authority", "www.example.com");
    assert_eq!(
        decode(
            &mut decoder,
            &hex("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff")
        )
        .unwrap(),
        fields(&[get[0], get[1], get[2], host])
    );
    assert_eq!(
        decode(&mut decoder, &hex("8286 84be 5886 a8eb 1064 9cbf")).unwrap(),
        fields(&[get[0], get[1], get[2], host, ("cache-control", "no-cache")])
    );
    assert_eq!(
        decode(
            &mut decoder,
            &hex("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf")
        )
        .unwrap(),
        fields(&[
            get[0],
            (":scheme", "https"),
            (":path", "/index.html"),
            host,
            ("custom-key", "custom-value")
        ])
    );
    assert_eq!(decoder.bytes, 164, "as the RFC counts");
}

#[test]
fn the_table_forgets_the_oldest_and_keeps_its_size() {
    let mut decoder = Decoder::default();
    for index in 0..200 {
        let block = Block::new(&[("x-number", &format!("{index:020}"))]);
        decode(&mut decoder, &block.first).unwrap();
        assert!(decoder.bytes <= TABLE_BYTES);
    }
    // 28 bytes of text and 32 of bookkeeping each.
    assert_eq!(decoder.entries.len(), TABLE_BYTES / 60);
    let newest = decode(&mut decoder, &[0xbe]).unwrap();
    assert_eq!(newest, fields(&[("x-number", "00000000000000000199")]));
    // Size 0, then back to 4,096.
    decode(&mut decoder, &[0x20, 0x3f, 0xe1, 0x1f]).unwrap();
    assert_eq!((decoder.bytes, decoder.entries.len()), (0, 0));
    assert_eq!(decode(&mut decoder, &[0xbe]), Err(HpackError::Index));
}

#[test]
fn an_entry_larger_than_the_table_empties_it() {
    let mut decoder = Decoder::default();
    decode(&mut decoder, &Block::new(&[("a", "b")]).first).unwrap();
    let long = "v".repeat(5000);
    let mut block = vec![0x40, 1, b'n'];
    string(&long, &mut block);
    assert_eq!(
        decode(&mut decoder, &block).unwrap(),
        fields(&[("n", &long)])
    );
    assert!(decoder.entries.is_empty());
}

#[test]
fn hostile_blocks_are_errors() {
    for (block, error) in [
        (vec![0x80], HpackError::Index),
        (vec![0xbe], HpackError::Index),
        (vec![0xff, 0xff, 0xff, 0xff, 0xff, 0x0f], HpackError::Number),
        (vec![0x40], HpackError::Truncated),
        (vec![0x41, 0x05, b'a'], HpackError::Truncated),
        (vec![0x41, 0x81, 0xff], HpackError::Huffman),
        (vec![0x82, 0x20], HpackError::TableSize),
        (vec![0x3f, 0xe2, 0x1f], HpackError::TableSize),
    ] {
        let found = decode(&mut Decoder::default(), &block);
        assert_eq!(found, Err(error), "{block:x?}");
    }
    // A byte names 4 KiB of table each time: what is decoded is bounded, not only what is sent.
    let mut decoder = Decoder::default();
    let large = "v".repeat(3000);
    decode(&mut decoder, &Block::new(&[("n", &large)]).first).unwrap();
    assert_eq!(decode(&mut decoder, &[0xbe; 400]), Err(HpackError::Long));
}

#[test]
fn a_request_is_short_from_the_second_time_on() {
    let all = [
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "shop.test"),
        (":path", "/cart"),
        ("user-agent", "plimsoll"),
    ];
    let block = Block::new(&all);
    assert_eq!(block.next.len(), all.len());
    let mut decoder = Decoder::default();
    for form in [&block.first, &block.next, &block.plain, &block.next] {
        assert_eq!(decode(&mut decoder, form).unwrap(), fields(&all));
    }
}

proptest! {
    #[test]
    fn all_forms_say_the_same(
        given in proptest::collection::vec(("[a-z-]{1,12}", "\\PC{0,30}"), 0..20),
    ) {
        let all: Vec<(&str, &str)> = given.iter().map(|(name, value)| (&**name, &**value)).collect();
        let block = Block::new(&all);
        let mut decoder = Decoder::default();
        for form in [&block.first, &block.next, &block.next, &block.plain] {
            prop_assert_eq!(&decode(&mut decoder, form).unwrap(), &given);
        }
    }

    #[test]
    fn no_block_panics_and_the_table_stays_bounded(
        blocks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 1..8),
    ) {
        let mut decoder = Decoder::default();
        for block in blocks {
            let _any = decode(&mut decoder, &block);
            prop_assert!(decoder.bytes <= TABLE_BYTES);
            let sum: usize = decoder.entries.iter().map(Entry::size).sum();
            prop_assert_eq!(sum, decoder.bytes);
        }
    }
}
