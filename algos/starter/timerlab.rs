// timerlab.rs: the declarations of timerlab.h in Rust, under the same names and with the same layout.
// timerlab.h documents each of them. Keep both files in step: the tests compare the size of every
// struct, the place of every member and the value of every constant.
#![allow(non_camel_case_types, dead_code, unused_imports)]

use std::os::raw::{c_char, c_void};

pub const TL_ABI: u32 = 1;
pub const TL_DEADLINE_MAX: u64 = 1 << 63;
pub const TL_NEVER: u64 = u64::MAX;
pub const TL_NO_BUDGET: u64 = u64::MAX;

// --- status ----------------------------------------------------------------------------------

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum tl_status {
    TL_OK = 0,
    TL_IDLE = 1,
    TL_ERR_HORIZON = 2,
    TL_ERR_NOMEM = 3,
    TL_ERR_CAPACITY = 4,
    TL_ERR_OPTION = 5,
    TL_ERR_DESCRIPTOR = 6,
    TL_ERR_CORRUPT = 7,
    TL_ERR_UNAVAILABLE = 8,
    TL_ERR_FULL = 9,
    TL_ERR_STORE = 10,
    TL_ERR_DISK_FULL = 11,
}
pub use tl_status::*;

// --- memory ----------------------------------------------------------------------------------

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_allocator {
    pub ctx: *mut c_void,
    pub resize: unsafe extern "C" fn(ctx: *mut c_void, ptr: *mut c_void, old_bytes: usize, new_bytes: usize, align: usize) -> *mut c_void,
}

// --- options ---------------------------------------------------------------------------------

pub type tl_option_kind = u32;
pub const TL_OPTION_U32: tl_option_kind = 0;
pub const TL_OPTION_U64: tl_option_kind = 1;
pub const TL_OPTION_TICKS: tl_option_kind = 2;
pub const TL_OPTION_BYTES: tl_option_kind = 3;
pub const TL_OPTION_CHOICE: tl_option_kind = 4;
pub const TL_OPTION_TEXT: tl_option_kind = 5;
pub const TL_OPTION_REAL: tl_option_kind = 6;

pub const TL_TEXT_BYTES: usize = 1024;
pub const TL_OPTIONS_BYTES: usize = 2048;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_choice {
    pub word: *const c_char,
    pub value: u64,
    pub help: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_option {
    pub name: *const c_char,
    pub kind: tl_option_kind,
    pub offset: usize,
    pub default_value: f64,
    pub min: f64,
    pub max: f64,
    pub choices: *const tl_choice,
    pub help: *const c_char,
}

// --- what a structure promises ---------------------------------------------------------------

pub const TL_CAP_ORDERED: u32 = 0x1;
pub const TL_CAP_FIFO: u32 = 0x2;
pub const TL_CAP_EXACT: u32 = 0x4;
pub const TL_CAP_NEXT: u32 = 0x8;
pub const TL_CAP_NEXT_EXACT: u32 = 0x10;
pub const TL_CAP_BUDGET: u32 = 0x20;
pub const TL_CAP_UNLIMITED: u32 = 0x40;
pub const TL_CAP_ALLOCATES: u32 = 0x80;
pub const TL_CAP_BASELINE: u32 = 0x100;
pub const TL_CAP_FIRES_NOTHING: u32 = 0x200;
pub const TL_CAP_SLOW: u32 = 0x400;
pub const TL_CAP_REFUSES: u32 = 0x800;
pub const TL_CAP_OWN_MEMORY: u32 = 0x1000;
pub const TL_CAP_DURABLE: u32 = 0x2000;
pub const TL_CAP_CONCURRENT: u32 = 0x4000;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_precision {
    pub early_ticks: u64,
    pub late_ticks: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_cost {
    pub start: *const c_char,
    pub stop: *const c_char,
    pub tick: *const c_char,
    pub expire: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_counters {
    pub compares: u64,
    pub moves: u64,
    pub slots: u64,
    pub cascades: u64,
}

// --- what a structure looks like inside ------------------------------------------------------

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum tl_form {
    TL_FORM_LIST = 0,
    TL_FORM_WHEEL = 1,
    TL_FORM_TREE = 2,
}
pub use tl_form::*;

pub const TL_MARK_HAND: u32 = 0x1;
pub const TL_MARK_QUEUED: u32 = 0x2;
pub const TL_MARK_FLAGGED: u32 = 0x4;
pub const TL_MARK_STALE: u32 = 0x8;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_part {
    pub name: *const c_char,
    pub form: tl_form,
    pub cell_ticks: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_cell {
    pub index: u64,
    pub parent: u64,
    pub from: u64,
    pub to: u64,
    pub marks: u32,
    pub refers: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_held {
    pub id: u32,
    pub marks: u32,
    pub at: u64,
    pub rounds: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_visitor {
    pub ctx: *mut c_void,
    pub part: unsafe extern "C" fn(ctx: *mut c_void, part: *const tl_part),
    pub cell: unsafe extern "C" fn(ctx: *mut c_void, cell: *const tl_cell),
    pub timer: unsafe extern "C" fn(ctx: *mut c_void, held: *const tl_held),
}

pub type tl_fire_fn = unsafe extern "C" fn(ctx: *mut c_void, id: u32, now: u64);

// --- what outlives the process ---------------------------------------------------------------

pub type tl_adopt_fn = unsafe extern "C" fn(ctx: *mut c_void, id: u32, deadline: u64, generation: u64);

pub const TL_SERVICE_MAX: u32 = 255;
pub const TL_PAYLOAD_MAX: u32 = 65536;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_call {
    pub service: *const c_char,
    pub payload: *const c_void,
    pub bytes: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_durability {
    pub sequence: u64,
    pub durable_sequence: u64,
    pub bytes_durable: u64,
    pub bytes_written: u64,
    pub syncs: u64,
    pub failure: *const c_char,
}

// --- the descriptor --------------------------------------------------------------------------

pub const TL_EMBEDDED_ALIGN: u32 = 8;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_records {
    pub base: *mut c_void,
    pub stride_bytes: usize,
    pub offset_bytes: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tl_config {
    pub capacity: u32,
    pub now: u64,
    pub max_delay_ticks: u64,
    pub options: *const c_void,
    pub allocator: *const tl_allocator,
    pub records: *const tl_records,
}

#[repr(C)]
pub struct tl_algo {
    pub abi: u32,
    pub capabilities: u32,
    pub name: *const c_char,
    pub summary: *const c_char,
    pub origin: *const c_char,
    pub description: *const c_char,
    pub cost: tl_cost,
    pub options: *const tl_option,
    pub options_bytes: usize,
    pub precision: Option<unsafe extern "C" fn(options: *const c_void, delay_ticks: u64) -> tl_precision>,
    pub create: Option<unsafe extern "C" fn(config: *const tl_config, this: *mut *mut c_void) -> tl_status>,
    pub destroy: Option<unsafe extern "C" fn(this: *mut c_void)>,
    pub reserve: Option<unsafe extern "C" fn(this: *mut c_void, capacity: u32) -> tl_status>,
    pub start: Option<unsafe extern "C" fn(this: *mut c_void, id: u32, deadline: u64) -> tl_status>,
    pub stop: Option<unsafe extern "C" fn(this: *mut c_void, id: u32) -> tl_status>,
    pub advance: Option<unsafe extern "C" fn(this: *mut c_void, now: u64, budget: u64, fire: tl_fire_fn, ctx: *mut c_void) -> u64>,
    pub next: Option<unsafe extern "C" fn(this: *const c_void) -> u64>,
    pub count: Option<unsafe extern "C" fn(this: *const c_void) -> u64>,
    pub counters: Option<unsafe extern "C" fn(this: *const c_void, out: *mut tl_counters)>,
    pub check: Option<unsafe extern "C" fn(this: *const c_void, why: *mut c_char, why_bytes: usize) -> tl_status>,
    pub walk: Option<unsafe extern "C" fn(this: *const c_void, visitor: *const tl_visitor)>,
    pub differs: *const c_char,
    pub embedded_bytes: usize,
    pub moved: Option<unsafe extern "C" fn(this: *mut c_void, records: *const tl_records)>,
    pub sync: Option<unsafe extern "C" fn(this: *mut c_void, durable_sequence: *mut u64) -> tl_status>,
    pub recover: Option<unsafe extern "C" fn(this: *mut c_void, adopt: tl_adopt_fn, ctx: *mut c_void) -> tl_status>,
    pub durability: Option<unsafe extern "C" fn(this: *const c_void, out: *mut tl_durability)>,
    pub start_call:
        Option<unsafe extern "C" fn(this: *mut c_void, id: u32, deadline: u64, call: *const tl_call) -> tl_status>,
    pub call: Option<unsafe extern "C" fn(this: *mut c_void, id: u32, out: *mut tl_call) -> tl_status>,
}

// A descriptor and everything it points to are constant.
unsafe impl Sync for tl_algo {}
