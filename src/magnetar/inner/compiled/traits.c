/* Looks into the metadata of entries: plain/traits.py says for what. */
#include "inner.h"

/* A byte of field 19, 20, 22, 23 or 26's tag, and the 1 behind it. */
static bool may_be_unusual(const Reader *metadata) {
    for (const uint8_t *at = metadata->at; at + 1 < metadata->end; at++)
        if (at[1] == 0x01 &&
            (at[0] == 0x98 || at[0] == 0xa0 || at[0] == 0xb0 || at[0] == 0xb8 || at[0] == 0xd2))
            return true;
    return false;
}

/* The fields of a transaction's id. */
static bool is_part_of(Reader rest, const Transaction *said) {
    return read_literal(&rest, "\xb0\x01", 2) &&
           read_literal(&rest, (const char *)said->least.at, left(&said->least)) &&
           read_literal(&rest, "\xb8\x01", 2) &&
           read_literal(&rest, (const char *)said->most.at, left(&said->most));
}

/* The same where these are known and may be there: they must be. */
static bool may_be_unusual_in(const Transaction *said, const Reader *metadata) {
    bool found = false;
    for (const uint8_t *at = metadata->at; at + 1 < metadata->end; at++) {
        if (at[1] != 0x01) continue;
        if (at[0] == 0x98 || at[0] == 0xa0 || at[0] == 0xd2) return true;
        found = found || (at[0] == 0xb0 && is_part_of((Reader){at, metadata->end}, said));
    }
    return !found;
}

/* How many messages an entry holds; 0 where its metadata is unusual, or in an unusual form. */
static uint64_t usual_count(Reader metadata) {
    uint64_t count = 1;
    unsigned seen = 0;
    Field field;
    while (left(&metadata) > 0) {
        if (!read_field(&metadata, &field)) return 0;
        switch (field.tag) {
        case 0x0a: seen |= 1; break; /* producer_name, sequence_id, publish_time: required */
        case 0x10: seen |= 2; break;
        case 0x18: seen |= 4; break;
        case 0x22:
            if (!is_pair(field.bytes)) return 0;
            break;
        case 0x58:
            if (field.number > INT32_MAX) return 0;
            count = field.number > 0 ? field.number : 1;
            break;
        case 0x2a: case 0x32: case 0x3a: case 0x40: case 0x48: case 0x60: case 0x72: case 0x7a:
        case 130: case 136: case 146: case 176: case 184: case 192: case 200: case 216: case 224: case 232: case 240:
            break;
        default: return 0;
        }
    }
    return seen == 7 ? count : 0;
}

/* The metadata of an entry, or as much of it as there is; then it is not whole. */
static bool read_metadata(Reader entry, Reader *metadata, bool *whole) {
    uint32_t size;
    *whole = false;
    if (!read_u32(&entry, &size)) return false;
    *whole = read_part(&entry, size, metadata);
    if (!*whole) *metadata = entry;
    return true;
}

bool entry_is_usual(Reader entry, uint64_t message_count, const Transaction *said) {
    Reader metadata;
    bool whole;
    return message_count > 0 && read_metadata(entry, &metadata, &whole) && left(&metadata) > 0 &&
           *metadata.at == 0x0a &&
           !(said == NULL ? may_be_unusual(&metadata) : may_be_unusual_in(said, &metadata));
}

/* How many messages an entry holds; 0 where nobody can tell without parsing it. */
static uint64_t count_of(Reader entry) {
    Reader metadata;
    bool whole;
    return read_metadata(entry, &metadata, &whole) && whole ? usual_count(metadata) : 0;
}

PyObject *inner_look_into(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Py_ssize_t entries, said;
    uint64_t known, count;
    Reader entry;
    if (!argument_count("look_into", given, 2) || !argument_list(arguments[0], &entries) ||
        !argument_list(arguments[1], &said))
        return NULL;
    if (entries != said) {
        PyErr_SetString(PyExc_ValueError, "not as many counts as entries");
        return NULL;
    }
    PyObject *counts = Py_NewRef(arguments[1]), *unusual = PyList_New(0);
    bool ok = unusual != NULL;
    for (Py_ssize_t i = 0; ok && i < entries; i++) {
        ok = item_bytes(arguments[0], i, &entry) && item_u64(counts, i, &known);
        if (!ok || entry_is_usual(entry, known, NULL)) continue;
        count = count_of(entry);
        if (counts == arguments[1]) {
            Py_DECREF(counts);
            ok = (counts = PyList_GetSlice(arguments[1], 0, said)) != NULL;
        }
        ok = ok && put(counts, i, PyLong_FromUnsignedLongLong(count > 0 ? count : 1));
        if (ok && count == 0) {
            PyObject *index = PyLong_FromSsize_t(i);
            ok = index != NULL && PyList_Append(unusual, index) == 0;
            Py_XDECREF(index);
        }
    }
    if (ok) return Py_BuildValue("(NN)", counts, unusual);
    Py_XDECREF(counts);
    Py_XDECREF(unusual);
    return NULL;
}
