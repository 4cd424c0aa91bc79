/*
 * rust.h: the contract in Rust, made from timerlab.h as it lies in the program: the same names, and
 * the same bytes in the same places.
 */
#ifndef SIM_EXPORT_RUST_H
#define SIM_EXPORT_RUST_H

#include "error.h"

#include <stdbool.h>
#include <stdio.h>

/* Writes the module. Its constants, structs and function types are those of the header, which it
 * repeats with their comments; functions of the header are not in it. */
bool rust_write_contract(FILE *stream, struct error *error);

#endif
