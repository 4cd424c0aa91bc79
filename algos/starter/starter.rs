//! starter: a correct timer structure, to start your own from.
//!
//!     pending <-> [due 20, id 4] <-> [due 3, id 0] <-> [due 8, id 7] <-> pending      in no order
//!     due     <-> [due 2, id 1] <-> due                               expired, not fired yet
//!
//! All pending timers are in one doubly linked list, in no order. start(2, 5) appends timer 2 to it, and
//! stop(7) unlinks timer 7. advance(3) walks the whole list, moves the expired timers to a second list, and
//! fires those. An advance before the tick `earliest` does nothing.
//!
//! Describe your structure here, with a picture and an example, and then:
//!
//! Invariants
//!   - a timer is in one of the two lists exactly if its `next` is not UNLINKED
//!   - no timer in `PENDING` is due before the tick `earliest`
//!   - callbacks start timers in `PENDING` only, so that these do not fire in the same advance
//!
//! Complexity: start and stop O(1), a tick O(1), expiry O(n). Use it for few timers. Bad at: more.
//!
//! timerlab.rs, the header timerlab.h in Rust, explains all hooks. The comments at the end of this file name
//! the required ones and common mistakes.

mod timerlab;

use std::fmt::Write;
use std::mem::{align_of, size_of};
use std::ops::{Deref, DerefMut};
use std::os::raw::{c_char, c_void};
use std::ptr::{self, NonNull};
use timerlab::*;

// --- memory: all of it comes from the caller, which counts it -------------------------------------

/// Resizes a block from `old` to `new` values: as the contract's allocator does, None on failure.
unsafe fn resize<T>(from: *const tl_allocator, block: *mut T, old: usize, new: usize) -> Option<NonNull<T>> {
    let bytes = |count: usize| count.checked_mul(size_of::<T>());
    let resize = (*from).resize;
    NonNull::new(resize((*from).ctx, block.cast(), bytes(old)?, bytes(new)?, align_of::<T>()).cast())
}

/// A growable array. Vec and Box would take memory that is not counted.
struct Array<T: Copy> {
    from: *const tl_allocator,
    first: NonNull<T>,
    count: usize,
}

impl<T: Copy> Array<T> {
    fn new(from: *const tl_allocator) -> Self {
        Array { from, first: NonNull::dangling(), count: 0 }
    }

    /// Set the new values to `value`. On failure change nothing.
    fn grow(&mut self, count: usize, value: T) -> Result<(), tl_status> {
        let old = if self.count == 0 { ptr::null_mut() } else { self.first.as_ptr() };
        if count > self.count {
            unsafe {
                self.first = resize(self.from, old, self.count, count).ok_or(TL_ERR_NOMEM)?;
                for index in self.count..count {
                    self.first.as_ptr().add(index).write(value);
                }
            }
            self.count = count;
        }
        Ok(())
    }
}

impl<T: Copy> Drop for Array<T> {
    fn drop(&mut self) {
        if self.count > 0 {
            unsafe { resize(self.from, self.first.as_ptr(), self.count, 0) };
        }
    }
}

impl<T: Copy> Deref for Array<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

impl<T: Copy> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.count) }
    }
}

// --- the structure: no hook, and nothing unsafe ---------------------------------------------------

const UNLINKED: u32 = u32::MAX;

/// The heads of the two lists; timer `id` is node id + FIRST. Links are indices instead of pointers: four
/// bytes instead of eight, and the nodes may move.
const PENDING: u32 = 0;
const DUE: u32 = 1;
const FIRST: u32 = 2;

#[derive(Clone, Copy)]
struct Node {
    due: u64,
    next: u32,
    prev: u32,
}

struct Timers {
    nodes: Array<Node>,
    clock: u64,
    earliest: u64,
    count: u64,
    counters: tl_counters,
}

/// Adds to one of the counters, where they are compiled in: `--features counters`.
macro_rules! count {
    ($timers:expr, $counter:ident) => {
        if cfg!(feature = "counters") {
            $timers.counters.$counter += 1;
        }
    };
}

impl Timers {
    fn new(config: &tl_config) -> Result<Timers, tl_status> {
        let mut timers = Timers {
            nodes: Array::new(config.allocator),
            clock: config.now,
            earliest: TL_NEVER,
            count: 0,
            counters: tl_counters { compares: 0, moves: 0, slots: 0, cascades: 0 },
        };
        for list in PENDING..FIRST {
            timers.nodes.grow(list as usize + 1, Node { due: 0, next: list, prev: list })?;
        }
        timers.reserve(config.capacity)?;
        Ok(timers)
    }

    fn reserve(&mut self, capacity: u32) -> Result<(), tl_status> {
        let count = capacity.checked_add(FIRST).filter(|&count| count < UNLINKED).ok_or(TL_ERR_CAPACITY)?;
        self.nodes.grow(count as usize, Node { due: 0, next: UNLINKED, prev: UNLINKED })
    }

    fn at(&mut self, index: u32) -> &mut Node {
        &mut self.nodes[index as usize]
    }

    fn next_of(&self, index: u32) -> u32 {
        self.nodes[index as usize].next
    }

    fn unlink(&mut self, index: u32) {
        let Node { next, prev, .. } = *self.at(index);
        self.at(prev).next = next;
        self.at(next).prev = prev;
        self.at(index).next = UNLINKED;
        count!(self, moves);
    }

    fn append(&mut self, list: u32, index: u32) {
        let last = self.at(list).prev;
        self.at(index).prev = last;
        self.at(index).next = list;
        self.at(last).next = index;
        self.at(list).prev = index;
        count!(self, moves);
    }

    fn start(&mut self, id: u32, deadline: u64) {
        self.stop(id);
        let due = deadline.max(self.clock);
        self.at(id + FIRST).due = due;
        self.append(PENDING, id + FIRST);
        self.count += 1;
        self.earliest = self.earliest.min(due);
    }

    /// Whether it was pending. `earliest` may then be too early, which costs one vain advance.
    fn stop(&mut self, id: u32) -> bool {
        let linked = self.next_of(id + FIRST) != UNLINKED;
        if linked {
            self.unlink(id + FIRST);
            self.count -= 1;
        }
        linked
    }

    /// Moves the expired timers from one list to the other, and computes `earliest` of the rest.
    fn collect(&mut self, now: u64) {
        self.clock = now;
        if self.earliest > now {
            return;
        }
        self.earliest = TL_NEVER;
        let mut index = self.next_of(PENDING);
        while index != PENDING {
            let Node { due, next, .. } = *self.at(index);
            count!(self, compares);
            if due <= now {
                self.unlink(index);
                self.append(DUE, index);
            } else {
                self.earliest = self.earliest.min(due);
            }
            index = next;
        }
    }

    /// Unlinks the next timer that `collect` has found.
    fn take_due(&mut self) -> Option<u32> {
        let index = self.next_of(DUE);
        if index == DUE {
            return None;
        }
        self.unlink(index);
        self.count -= 1;
        Some(index - FIRST)
    }

    fn next(&self) -> u64 {
        if self.next_of(DUE) != DUE {
            self.clock
        } else if self.next_of(PENDING) != PENDING {
            self.earliest
        } else {
            TL_NEVER
        }
    }

    fn check(&self, why: &mut Why) -> std::fmt::Result {
        let mut seen = 0;
        for list in PENDING..FIRST {
            let mut before = list;
            let mut index = self.next_of(list);
            while index != list {
                let node = self.nodes[index as usize];
                seen += 1;
                if node.prev != before || seen > self.count {
                    return write!(why, "the links around timer {} do not agree", index - FIRST);
                }
                if list == PENDING && node.due < self.earliest {
                    return write!(why, "timer {} is due before the earliest, {}", index - FIRST, self.earliest);
                }
                before = index;
                index = node.next;
            }
        }
        if seen != self.count {
            return write!(why, "{} timers linked, {} counted", seen, self.count);
        }
        Ok(())
    }
}

/// A text in the caller's memory.
struct Why {
    at: *mut c_char,
    bytes: usize,
    said: bool,
}

impl Write for Why {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let length = text.len().min(self.bytes.saturating_sub(1));
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr().cast(), self.at, length);
            self.at = self.at.add(length);
            if self.bytes > 0 {
                *self.at = 0;
            }
        }
        self.bytes -= length;
        self.said = true;
        Ok(())
    }
}

// --- the hooks ------------------------------------------------------------------------------------

fn status(result: Result<(), tl_status>) -> tl_status {
    result.err().unwrap_or(TL_OK)
}

/// The structure that `create` made. A callback may call hooks while `advance` runs, so no hook may keep this
/// reference across `fire`.
unsafe fn timers<'a>(this: *mut c_void) -> &'a mut Timers {
    &mut *this.cast::<Timers>()
}

/// Required. Take all memory from config.allocator, and return it with the same size and alignment: no Vec, no
/// Box. config.options is your struct of options, filled in from the table `options` and checked.
unsafe extern "C" fn create(config: *const tl_config, this: *mut *mut c_void) -> tl_status {
    let from = (*config).allocator;
    let memory = match resize::<Timers>(from, ptr::null_mut(), 0, 1) {
        Some(memory) => memory,
        None => return TL_ERR_NOMEM,
    };
    match Timers::new(&*config) {
        Ok(timers) => {
            memory.as_ptr().write(timers);
            *this = memory.as_ptr().cast();
            TL_OK
        }
        Err(status) => {
            resize(from, memory.as_ptr(), 1, 0);
            status
        }
    }
}

/// Required. Timers may be pending; none fires.
unsafe extern "C" fn destroy(this: *mut c_void) {
    let from = timers(this).nodes.from;
    ptr::drop_in_place(this.cast::<Timers>());
    resize(from, this.cast::<Timers>(), 1, 0);
}

/// Required. Grow only; pending timers stay as they are; on failure change nothing. Allocate all memory for the
/// timers 0 .. capacity-1 here, because `start` must not fail.
unsafe extern "C" fn reserve(this: *mut c_void, capacity: u32) -> tl_status {
    status(timers(this).reserve(capacity))
}

/// Required. Also moves a pending timer. Note: the deadline may have passed (the timer is then due in the next
/// advance); it may be 2^63 (beware of overflow); if it is beyond your horizon, return TL_ERR_HORIZON before you
/// change anything.
unsafe extern "C" fn start(this: *mut c_void, id: u32, deadline: u64) -> tl_status {
    timers(this).start(id, deadline);
    TL_OK
}

/// Required. A timer that is not pending is no error: return TL_IDLE and change nothing. A timer that has expired
/// but not fired yet is still pending.
unsafe extern "C" fn stop(this: *mut c_void, id: u32) -> tl_status {
    if timers(this).stop(id) { TL_OK } else { TL_IDLE }
}

/// Required. `now` may stay, grow by one, or jump by years. Collect first and call back later: a callback may
/// start and stop any timer, so that no position in a list is valid after it, and its own timer must not be
/// pending any more. Timers above the budget stay in DUE for the next call.
unsafe extern "C" fn advance(this: *mut c_void, now: u64, budget: u64, fire: tl_fire_fn, ctx: *mut c_void) -> u64 {
    timers(this).collect(now);
    let mut fired = 0;
    while fired < budget {
        match timers(this).take_due() {
            Some(id) => fire(ctx, id, now),
            None => break,
        }
        fired += 1;
    }
    fired
}

/// Optional, with TL_CAP_NEXT; without it the structure is driven at every tick. A program sleeps until this
/// tick, so it must not be too late. It may be too early if it grows after an advance without expiries.
unsafe extern "C" fn next(this: *const c_void) -> u64 {
    timers(this as *mut c_void).next()
}

/// Required.
unsafe extern "C" fn count(this: *const c_void) -> u64 {
    timers(this as *mut c_void).count
}

/// Optional: the work done.
unsafe extern "C" fn counters(this: *const c_void, out: *mut tl_counters) {
    *out = timers(this as *mut c_void).counters;
}

/// Optional, and useful: the tests call it after each operation, and so find the one that broke an invariant.
unsafe extern "C" fn check(this: *const c_void, why: *mut c_char, why_bytes: usize) -> tl_status {
    let mut why = Why { at: why, bytes: why_bytes, said: false };
    let _ = timers(this as *mut c_void).check(&mut why);
    if why.said { TL_ERR_CORRUPT } else { TL_OK }
}

/// A C string.
macro_rules! text {
    ($text:expr) => {
        concat!($text, "\0").as_ptr() as *const c_char
    };
}

/// Required: the texts and the hooks marked so above. Optional: `options`, a table of tl_option, and
/// `options_bytes`; `precision` instead of TL_CAP_EXACT, for structures that fire early or late; `walk`, to show the
/// inside; `differs`, the differences from the origin; `embedded_bytes` and `moved`, for timers in the caller's
/// records.
///
/// `timerlab check` tests every capability declared here, with every value of every option.
#[no_mangle]
pub static timerlab_algo: tl_algo = tl_algo {
    abi: TL_ABI,
    capabilities: TL_CAP_EXACT | TL_CAP_NEXT | TL_CAP_BUDGET | TL_CAP_UNLIMITED | TL_CAP_SLOW,
    name: text!("starter"),
    summary: text!("one list in no order, walked when a timer is due"),
    origin: text!("your name, your paper, or the system that it is from"),
    description: text!(
        "All pending timers in one doubly linked list without order. An advance walks the whole list if \
         a timer can be due, and does nothing otherwise. Bad at: many timers."
    ),
    cost: tl_cost { start: text!("O(1)"), stop: text!("O(1)"), tick: text!("O(1)"), expire: text!("O(n)") },
    options: ptr::null(),
    options_bytes: 0,
    precision: None,
    create: Some(create),
    destroy: Some(destroy),
    reserve: Some(reserve),
    start: Some(start),
    stop: Some(stop),
    advance: Some(advance),
    next: Some(next),
    count: Some(count),
    counters: Some(counters),
    check: Some(check),
    walk: None,
    differs: ptr::null(),
    embedded_bytes: 0,
    moved: None,
    sync: None,
    recover: None,
    durability: None,
    start_call: None,
    call: None,
};
