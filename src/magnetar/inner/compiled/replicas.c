/* Copies of entries for another cluster, and where such were copied from: plain/replicas.py. */
#include "inner.h"

static const char SOURCE_POSITION[] = "__MSG_PROP_REPL_SOURCE_POSITION";
#define KEY_SIZE (sizeof SOURCE_POSITION - 1)

typedef enum { STAYS, GOES, NOT_PLAIN } Way;

/* What is copied, and where to. */
typedef struct {
    Reader here, there, schema_version;
    unsigned long long ledger, first_entry;
} Copying;

static bool same(const Reader *one, const Reader *other) {
    return left(one) == left(other) && memcmp(one->at, other->at, left(one)) == 0;
}

static bool is_copy(const Reader *metadata) {
    const uint8_t *at = metadata->at;
    while ((size_t)(metadata->end - at) >= KEY_SIZE &&
           (at = memchr(at, '_', (size_t)(metadata->end - at) - KEY_SIZE + 1)) != NULL) {
        if (memcmp(at, SOURCE_POSITION, KEY_SIZE) == 0) return true;
        at++;
    }
    return false;
}

static Way way_of(Reader metadata, const Copying *copying) {
    Reader version = {NULL, NULL};
    bool came = false, targeted = false, targets_it = false;
    Reader rest = metadata;
    Field field;
    while (left(&rest) > 0) {
        if (!read_field(&rest, &field)) return NOT_PLAIN;
        switch (field.tag) {
        case 160: case 176: case 184: return NOT_PLAIN; /* A marker, or in a transaction. */
        case 0x2a: came = true; break;
        case 0x3a:
            targeted = true;
            targets_it = targets_it || same(&field.bytes, &copying->there);
            break;
        case 130: version = field.bytes; break;
        default: break;
        }
    }
    if (came || (targeted && !targets_it)) return STAYS;
    if (is_copy(&metadata)) return NOT_PLAIN;
    return left(&version) > 0 && !same(&version, &copying->schema_version) ? NOT_PLAIN : GOES;
}

static PyObject *copy_of(const Reader *metadata, const Reader *payload, const Copying *copying,
                         unsigned long long entry_id) {
    char position[64];
    size_t size = (size_t)PyOS_snprintf(position, sizeof position, "%llu:%llu", copying->ledger, entry_id);
    size_t pair = 4 + KEY_SIZE + size, here = left(&copying->here);
    size_t total = left(metadata) + 1 + varint_size(here) + here + 2 + pair;
    Writer out;
    if (total > UINT32_MAX / 2) {
        PyErr_SetString(PyExc_ValueError, "metadata that no entry has room for");
        return NULL;
    }
    if (!writer_open(&out, 4 + total + left(payload))) return NULL;
    write_u32(&out, (uint32_t)total);
    write_bytes(&out, metadata->at, left(metadata));
    write_byte(&out, 0x2a);
    write_varint(&out, here);
    write_bytes(&out, copying->here.at, here);
    write_byte(&out, 0x22);
    write_byte(&out, (uint8_t)pair);
    write_byte(&out, 0x0a);
    write_byte(&out, (uint8_t)KEY_SIZE);
    write_bytes(&out, SOURCE_POSITION, KEY_SIZE);
    write_byte(&out, 0x12);
    write_byte(&out, (uint8_t)size);
    write_bytes(&out, position, size);
    write_bytes(&out, payload->at, left(payload));
    return writer_close(&out);
}

static bool add_copy(PyObject *lists[3], Py_ssize_t index, PyObject *copy) {
    Reader whole;
    if (!argument_bytes(copy, 0, &whole)) return false;
    uint32_t sum = checksum_of(whole.at, left(&whole));
    return append(lists[0], PyLong_FromSsize_t(index)) && append(lists[1], copy) &&
           append(lists[2], PyLong_FromUnsignedLong(sum));
}

PyObject *inner_replicas(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Py_ssize_t entries, index;
    uint64_t ledger, first_entry;
    Copying copying;
    if (!argument_count("replicas", given, 7) || !argument_list(arguments[0], &entries) ||
        !argument_size(arguments[1], &index) || !as_u64(arguments[2], &ledger) ||
        !as_u64(arguments[3], &first_entry) || !argument_bytes(arguments[4], 0, &copying.here) ||
        !argument_bytes(arguments[5], 0, &copying.there) ||
        !argument_bytes(arguments[6], 0, &copying.schema_version))
        return NULL;
    if (index > entries) {
        PyErr_SetString(PyExc_ValueError, "no index of that many entries");
        return NULL;
    }
    copying.ledger = ledger;
    copying.first_entry = first_entry;
    PyObject *lists[3] = {PyList_New(0), PyList_New(0), PyList_New(0)};
    bool ok = lists[0] != NULL && lists[1] != NULL && lists[2] != NULL;
    for (; ok && index < entries; index++) {
        Reader entry, metadata;
        uint32_t size;
        if (!(ok = item_bytes(arguments[0], index, &entry))) break;
        if (!read_u32(&entry, &size) || !read_part(&entry, size, &metadata)) break;
        Way way = way_of(metadata, &copying);
        if (way == NOT_PLAIN) break;
        if (way == GOES) {
            unsigned long long entry_id = copying.first_entry + (unsigned long long)index;
            ok = add_copy(lists, index, copy_of(&metadata, &entry, &copying, entry_id));
        }
    }
    if (ok) return Py_BuildValue("(nNNN)", index, lists[0], lists[1], lists[2]);
    for (int i = 0; i < 3; i++) Py_XDECREF(lists[i]);
    return NULL;
}

#define DIGITS_MAX 19

/* What a property is before the size of its value. */
static bool read_key(Reader *pair) {
    return read_tag(pair, 0x0a) && read_tag(pair, (uint8_t)KEY_SIZE) &&
           read_literal(pair, SOURCE_POSITION, KEY_SIZE) && read_tag(pair, 0x12);
}

static bool read_digits(Reader *text, uint64_t *number) {
    unsigned digits = 0;
    for (*number = 0; left(text) > 0 && *text->at >= '0' && *text->at <= '9'; digits++, text->at++) {
        if (digits == DIGITS_MAX) return false;
        *number = *number * 10 + (uint64_t)(*text->at - '0'); /* Of 19 digits: it has room. */
    }
    return digits > 0 && *number <= INT64_MAX;
}

static bool read_place(Reader pair, uint64_t *ledger, uint64_t *entry) {
    uint8_t size;
    Reader text;
    return read_key(&pair) && read_byte(&pair, &size) && read_part(&pair, size, &text) &&
           read_digits(&text, ledger) && read_tag(&text, ':') && read_digits(&text, entry) &&
           left(&text) == 0;
}

static PyObject *source_place(Reader whole) {
    uint64_t ledger, entry;
    uint32_t size;
    Reader metadata;
    if (!read_u32(&whole, &size)) return Py_NewRef(Py_None);
    if (!read_part(&whole, size, &metadata)) metadata = whole;
    while (left(&metadata) > KEY_SIZE &&
           (metadata.at = memchr(metadata.at, 0x0a, left(&metadata))) != NULL) {
        if (read_place(metadata, &ledger, &entry))
            return Py_BuildValue("(KK)", (unsigned long long)ledger, (unsigned long long)entry);
        metadata.at++;
    }
    return Py_NewRef(Py_None);
}

PyObject *inner_source_places(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    Py_ssize_t entries;
    Reader entry;
    if (!argument_count("source_places", given, 1) || !argument_list(arguments[0], &entries))
        return NULL;
    PyObject *places = PyList_New(entries);
    bool ok = places != NULL;
    for (Py_ssize_t i = 0; ok && i < entries; i++)
        ok = item_bytes(arguments[0], i, &entry) && put(places, i, source_place(entry));
    if (ok) return places;
    Py_XDECREF(places);
    return NULL;
}
