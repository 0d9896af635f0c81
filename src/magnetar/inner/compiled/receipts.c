/* Receipts for a run of sends: plain/receipts.py says what they are. */
#include "inner.h"

typedef struct {
    uint64_t producer, sequence, ledger, entry, highest;
} Receipt;

static size_t id_size(const Receipt *receipt) {
    return 2 + varint_size(receipt->ledger) + varint_size(receipt->entry);
}

static size_t receipt_size(const Receipt *receipt) {
    return 5 + varint_size(receipt->producer) + varint_size(receipt->sequence) + id_size(receipt) +
           varint_size(receipt->highest);
}

static void write_receipt(Writer *out, const Receipt *receipt) {
    size_t size = receipt_size(receipt);
    write_u32(out, (uint32_t)(8 + size));
    write_u32(out, (uint32_t)(4 + size));
    write_bytes(out, "\x08\x07\x3a", 3);
    write_byte(out, (uint8_t)size);
    write_field(out, 0x08, receipt->producer);
    write_field(out, 0x10, receipt->sequence);
    write_byte(out, 0x1a);
    write_byte(out, (uint8_t)id_size(receipt));
    write_field(out, 0x08, receipt->ledger);
    write_field(out, 0x10, receipt->entry);
    write_field(out, 0x20, receipt->highest);
}

PyObject *inner_send_receipts(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    PyObject *sequences, *highest;
    Py_ssize_t sends, tops;
    Receipt first, receipt;
    uint64_t step = 1;
    size_t size = 0;
    Writer out;
    if (!argument_count("send_receipts", given == 6 ? 5 : given, 5) || !as_u64(arguments[0], &first.producer) ||
        !argument_list(sequences = arguments[1], &sends) ||
        !argument_list(highest = arguments[2], &tops) || !as_u64(arguments[3], &first.ledger) ||
        !as_u64(arguments[4], &first.entry) || (given == 6 && !as_u64(arguments[5], &step)))
        return NULL;
    if (sends != tops) {
        PyErr_SetString(PyExc_ValueError, "not as many highest sequence ids as sends");
        return NULL;
    }
    receipt = first;
    for (Py_ssize_t i = 0; i < sends; i++, receipt.entry += step)
        if (!item_u64(sequences, i, &receipt.sequence) || !item_u64(highest, i, &receipt.highest) ||
            !add_size(&size, 12 + receipt_size(&receipt)))
            return NULL;
    if (!writer_open(&out, size)) return NULL;
    receipt = first;
    for (Py_ssize_t i = 0; i < sends; i++, receipt.entry += step) {
        if (!item_u64(sequences, i, &receipt.sequence) || !item_u64(highest, i, &receipt.highest)) {
            writer_drop(&out);
            return NULL;
        }
        write_receipt(&out, &receipt);
    }
    return writer_close(&out);
}
