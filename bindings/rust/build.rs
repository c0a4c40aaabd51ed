// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! Compiles libashlar from the sources in this package, or links the `libashlar.a` in the folder ASHLAR_LIB_DIR.
use std::{env, fs, path::Path};

/// The parts of malloc/drop_in.cmake: a name, how it is optimised, its sources, and whether exceptions pass through.
const PARTS: &[(&str, &str, &[&str], bool)] = &[
    ("hot", "2", &["blocks", "family", "heap_blocks", "new_delete"], false),
    (
        "cold",
        "s",
        &[
            "api", "bad_alloc", "call_stack", "cold_code", "control", "error_stream", "guard_pool", "heap_objects",
            "heap_profile", "heaps", "options", "report", "sampled_blocks",
        ],
        false,
    ),
    ("derived", "2", &["names_of_others", "operator_forms"], true),
];

const FLAGS: &[&str] = &[
    "-ffunction-sections", "-fdata-sections", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-fno-rtti",
    "-funwind-tables", "-fno-threadsafe-statics", "-ftls-model=initial-exec", "-fno-builtin-malloc",
    "-fno-builtin-calloc", "-fno-builtin-realloc", "-fno-builtin-free", "-DASHLAR_FOR_SIZE", "-DASHLAR_STAYS_LOADED",
    "-DASHLAR_MAY_LACK_GLIBC", "-DASHLAR_TELLS_OF_MAPS", "-DNDEBUG",
];

fn main() {
    println!("cargo:rerun-if-env-changed=ASHLAR_LIB_DIR");
    println!("cargo:rerun-if-changed=malloc");
    println!("cargo:rerun-if-changed=include");
    let is_wanted = |name: &str, value: &str| env::var(name).as_deref() == Ok(value);
    if !is_wanted("CARGO_CFG_TARGET_OS", "linux") || !is_wanted("CARGO_CFG_TARGET_POINTER_WIDTH", "64") {
        panic!("ashlar takes the place of the malloc of Linux's C library in programs of 64 bits, and of no other");
    }
    match env::var("ASHLAR_LIB_DIR") {
        Ok(folder) => {
            println!("cargo:rustc-link-search=native={folder}");
            println!("cargo:rustc-link-lib=static=ashlar");
        }
        Err(_) => compile(),
    }
}

fn compile() {
    let root = env::var("CARGO_MANIFEST_DIR").unwrap();
    let out = env::var("OUT_DIR").unwrap();
    let has = |feature: &str| env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let level = if has("HARDENED") { "2" } else { u8::from(has("CHECKED")).to_string().leak() };
    let mut archive = cc::Build::new();
    for (name, optimised, sources, throws) in PARTS {
        let unit = Path::new(&out).join(format!("{name}.cpp"));
        let includes: String = sources.iter().map(|source| format!("#include \"malloc/{source}.cpp\"\n")).collect();
        fs::write(&unit, includes).unwrap();
        let mut part = cc::Build::new();
        part.cpp(true).std("c++20").pic(true).debug(false).warnings(false).cargo_metadata(false);
        part.opt_level_str(optimised).include(&root).include(Path::new(&root).join("include")).define("ASHLAR_CHECKING", level);
        for flag in FLAGS {
            part.flag(flag);
        }
        part.flag(if *throws { "-fexceptions" } else { "-fno-exceptions" }).file(unit);
        for object in part.compile_intermediates() {
            archive.object(object);
        }
    }
    archive.compile("ashlar");
}
