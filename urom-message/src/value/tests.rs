//! Texts, their encoded values, and the errors of invalid texts.

use urom_abi::describe::{Enum, EnumValue, Struct, StructField};

use super::*;

const U8: Type = Type::Int { bytes: 1, signed: false };
const I16: Type = Type::Int { bytes: 2, signed: true };
const U64: Type = Type::Int { bytes: 8, signed: false };
const TILE: Struct = Struct {
    name: "Tile",
    docs: "",
    size: 8,
    align: 4,
    fields: &[
        StructField { name: "at", docs: "", offset: 0, ty: Type::Array { of: &I16, len: 2 } },
        StructField { name: "weight", docs: "", offset: 4, ty: Type::Float { bytes: 4 } },
    ],
};

fn elements(ty: &Type, text: &str) -> Result<Vec<u8>, String> {
    super::elements(ty, text, &Memories::new())
}

fn written(ty: &Type, text: &str) -> Result<Vec<u8>, String> {
    let mut out = vec![0; ty.size()];
    write(ty, text, &Memories::new(), &mut out).map(|()| out)
}

#[test]
fn integers_are_decimal_or_hexadecimal_with_a_sign() {
    assert_eq!(written(&I16, "-2"), Ok(vec![0xfe, 0xff]));
    assert_eq!(written(&I16, "-0x10"), Ok(vec![0xf0, 0xff]));
    assert_eq!(written(&U64, "0xffff_ffff_ffff_ffff"), Ok(vec![0xff; 8]));
    assert_eq!(written(&U64, "18446744073709551615"), Ok(vec![0xff; 8]));
}

#[test]
fn integers_that_do_not_fit_are_refused_with_the_range() {
    for (ty, text, part) in [
        (&U8, "256", "holds 0 to 255"),
        (&U8, "-1", "holds 0 to 255"),
        (&I16, "32768", "holds -32768 to 32767"),
        (&U64, "18446744073709551616", "holds 0 to 18446744073709551615"),
        (&U64, "999999999999999999999999999999999999999999", "holds 0 to 18446744073709551615"),
        (&I16, "-999999999999999999999999999999999999999999", "holds -32768 to 32767"),
        (&U64, "0xfffffffffffffffffffffffffffffffff", "holds 0 to"),
        (&U8, "1+b", "has spaces around it"),
        (&U8, "true", "write 1"),
        (&U8, "", "not an integer"),
        (&U8, "--1", "not an integer"),
        (&U8, "0x-1", "not an integer"),
        (&U8, "1.5", "not an integer"),
    ] {
        let error = written(ty, text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

const MODE: Type = Type::Enum(&Enum {
    name: "Mode",
    docs: "",
    bytes: 2,
    signed: true,
    values: &[
        EnumValue { name: "ReadOnly", docs: "", value: 0 },
        EnumValue { name: "Broken", docs: "", value: -2 },
    ],
});

#[test]
fn truths_characters_and_values_of_enums_are_written_by_name_or_number() {
    for (ty, text, want) in [
        (Type::Bool, "true", vec![1]),
        (Type::Bool, "0", vec![0]),
        (Type::Char, "é", vec![0xe9, 0, 0, 0]),
        (Type::Char, "7", vec![b'7', 0, 0, 0]),
        (Type::Char, "' '", vec![b' ', 0, 0, 0]),
        (Type::Char, "0x1f600", vec![0, 0xf6, 1, 0]),
        (MODE, "read_only", vec![0, 0]),
        (MODE, "Broken", vec![0xfe, 0xff]),
        (MODE, "-2", vec![0xfe, 0xff]),
        (MODE, "hex:0900", vec![9, 0]),
    ] {
        assert_eq!(written(&ty, text), Ok(want), "{text}");
    }
    for (ty, text, part) in [
        (Type::Bool, "2", "write true or false"),
        (Type::Char, "ab", "one character"),
        (Type::Char, "0xd800", "one character"),
        (Type::Char, "", "one character"),
        (MODE, "Brocken", "did you mean `Broken`"),
        (MODE, "1", "Mode lacks the value `1`: there is `ReadOnly`, `Broken`"),
    ] {
        let error = written(&ty, text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
    assert_eq!(elements(&Type::Utf8, "[é]"), Ok("[é]".into()));
    assert_eq!(elements(&Type::Utf8, "text:@x"), Ok("@x".into()));
}

#[test]
fn structures_are_lists_of_fields_and_what_is_not_named_is_zero() {
    let tile = Type::Struct(&TILE);
    let bytes = [&[1, 0, 0xfe, 0xff][..], &0.5f32.to_le_bytes()].concat();
    assert_eq!(written(&tile, "{at=[1, -2], weight=0.5}"), Ok(bytes));
    assert_eq!(written(&tile, "{weight=0}"), Ok(vec![0; 8]));
    assert_eq!(written(&tile, "hex:0102030405060708"), Ok(vec![1, 2, 3, 4, 5, 6, 7, 8]));
    for (text, part) in [
        ("{wieght=1}", "did you mean `weight`"),
        ("{at=[1]}", "the array has 2"),
        ("{at=[1,2}", "brackets"),
        ("{at}", "not `field=value`"),
        ("1", "expected the fields of Tile"),
        ("hex:01", "takes 8"),
    ] {
        let error = written(&tile, text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn bytes_are_text_digits_or_a_file() {
    assert_eq!(bytes("a=b"), Ok(b"a=b".to_vec()));
    assert_eq!(bytes(""), Ok(vec![]));
    assert_eq!(
        (bytes("hex:0aFf"), bytes("0x0a"), bytes("text:0x")),
        (Ok(vec![10, 255]), Ok(vec![10]), Ok(b"0x".to_vec()))
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), [0, 1]).unwrap();
    assert_eq!(bytes(&format!("@{}", file.path().display())), Ok(vec![0, 1]));
    for bad in ["hex:0", "hex:0g", "0xé", "@/nowhere/at/all", "@", "@/"] {
        assert!(bytes(bad).is_err(), "{bad}");
    }
    let endless = bytes("@/dev/zero").unwrap_err();
    assert!(endless.contains("which no message can have"), "{endless}");
}

#[test]
fn elements_are_a_list_or_one_or_whole_bytes() {
    assert_eq!(elements(&I16, "[1,-1]"), Ok(vec![1, 0, 0xff, 0xff]));
    assert_eq!(elements(&I16, "[]"), Ok(vec![]));
    assert_eq!(elements(&I16, "5"), Ok(vec![5, 0]));
    assert_eq!(elements(&I16, "hex:01020304"), Ok(vec![1, 2, 3, 4]));
    assert_eq!(elements(&U8, "[1,2]"), Ok(vec![1, 2]));
    assert_eq!(elements(&U8, "12"), Ok(b"12".to_vec()));
    assert!(elements(&I16, "hex:010203").unwrap_err().contains("takes 2"));
    assert!(elements(&I16, "[1,x]").unwrap_err().starts_with("element 1"));
}

#[test]
fn the_error_of_a_mistyped_list_names_the_defect() {
    for (text, part) in [
        ("[1,2", "`[1,2` does not end with `]`"),
        ("1,2]", "does not begin with `[`"),
        ("1,2", "a list: write `[1,2]`"),
        ("[1,,2]", "nothing in front of its comma number 2"),
        ("[,1]", "nothing in front of its comma number 1"),
        ("[[1,2]", "lacks a `]`"),
        ("[1]]", "`]` without its opening bracket"),
        ("[{1]]", "`]` without its opening bracket"),
    ] {
        let error = elements(&I16, text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
        let error = written(&Type::Array { of: &I16, len: 2 }, text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
    assert_eq!(elements(&I16, "[1,2,]"), Ok(vec![1, 0, 2, 0]));
    assert_eq!(elements(&U8, "a,b"), Ok(b"a,b".to_vec()), "a text");
    let error = written(&Type::Struct(&TILE), "{weight=1").unwrap_err();
    assert!(error.contains("does not end with `}`"), "{error}");
}

#[test]
fn an_array_of_bytes_takes_a_text_and_zeros_behind_it() {
    let name = Type::Array { of: &U8, len: 4 };
    assert_eq!(written(&name, "ab"), Ok(vec![b'a', b'b', 0, 0]));
    assert_eq!(written(&name, "[1,2,3,4]"), Ok(vec![1, 2, 3, 4]));
    assert_eq!(written(&name, "a,b]"), Ok(b"a,b]".to_vec()));
    assert!(written(&name, "abcde").unwrap_err().contains("4 fit"));
    assert!(written(&name, "hex:01").unwrap_err().contains("takes 4"));
}
