/* Receipts for a run of sends: plain/receipts.py says what they are. */
#include "inner.h"

#define RECEIPT_SIZE_MAX 80 /* Six varints of ten bytes, and 20 bytes around them. */

static void write_receipt(Writer *out, uint64_t producer, uint64_t sequence, uint64_t highest,
                          uint64_t ledger, uint64_t entry) {
    size_t id_size = 2 + varint_size(ledger) + varint_size(entry);
    size_t size = 5 + varint_size(producer) + varint_size(sequence) + id_size + varint_size(highest);
    write_u32(out, (uint32_t)(8 + size));
    write_u32(out, (uint32_t)(4 + size));
    write_bytes(out, "\x08\x07\x3a", 3);
    write_byte(out, (uint8_t)size);
    write_field(out, 0x08, producer);
    write_field(out, 0x10, sequence);
    write_byte(out, 0x1a);
    write_byte(out, (uint8_t)id_size);
    write_field(out, 0x08, ledger);
    write_field(out, 0x10, entry);
    write_field(out, 0x20, highest);
}

PyObject *inner_send_receipts(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    uint64_t producer, ledger, entry, sequence, top;
    Py_ssize_t sends, tops;
    Writer out;
    if (!argument_count("send_receipts", count, 5) || !as_u64(arguments[0], &producer) ||
        !argument_list(arguments[1], &sends) || !argument_list(arguments[2], &tops) ||
        !as_u64(arguments[3], &ledger) || !as_u64(arguments[4], &entry))
        return NULL;
    if (sends != tops) {
        PyErr_SetString(PyExc_ValueError, "not as many highest sequence ids as sends");
        return NULL;
    }
    if (!writer_open(&out, sends, RECEIPT_SIZE_MAX)) return NULL;
    for (Py_ssize_t i = 0; i < sends; i++) {
        if (!as_u64(PyList_GetItem(arguments[1], i), &sequence) ||
            !as_u64(PyList_GetItem(arguments[2], i), &top)) {
            writer_drop(&out);
            return NULL;
        }
        write_receipt(&out, producer, sequence, top, ledger, entry + (uint64_t)i);
    }
    return writer_close(&out);
}
