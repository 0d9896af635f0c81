/* Blocks for the log, and the records in a part of it: record.py and plain/records.py say what they are. */
#include "inner.h"

/* As in record.py. */
#define HEAD_SIZE 64
#define TABLES_SIZE 8
#define COVERED_FROM 12
#define SALT_SIZE 8
#define JOIN_BELOW 512
#define ENTRIES_MAX 65536
#define OFFSET_MASK ((UINT64_C(1) << 36) - 1)
#define BLOCK 1
#define JOINED 1

#define LEDGERS_MAX 1024 /* as in plain/records.py */
#define SLOTS 2048       /* a power of two, and more than ledgers: a search ends */
#define FEW 64

typedef struct {
    uint64_t synced, ledger, first, body_size;
    uint32_t body_checksum, count;
    uint8_t kind, flags;
} Head;

/* Little-endian numbers. */

static bool read_le32(Reader *reader, uint32_t *value) {
    if (!read_u32(reader, value)) return false;
    *value = *value >> 24 | (*value >> 8 & 0xFF00) | (*value & 0xFF00) << 8 | *value << 24;
    return true;
}

static bool read_le64(Reader *reader, uint64_t *value) {
    uint32_t low, high;
    if (!read_le32(reader, &low) || !read_le32(reader, &high)) return false;
    *value = (uint64_t)high << 32 | low;
    return true;
}

static void write_le32(Writer *writer, uint32_t value) {
    write_u32(writer,
              value >> 24 | (value >> 8 & 0xFF00) | (value & 0xFF00) << 8 | value << 24);
}

static void write_le64(Writer *writer, uint64_t value) {
    write_le32(writer, (uint32_t)value);
    write_le32(writer, (uint32_t)(value >> 32));
}

/* An integer of so many bits, or an exception. */
static bool argument_u64(PyObject *argument, uint64_t *value) {
    *value = PyLong_AsUnsignedLongLong(argument);
    return *value != UINT64_MAX || !PyErr_Occurred();
}

static bool argument_u32(PyObject *argument, uint32_t *value) {
    uint64_t found;
    if (argument == NULL) return false;
    if (PyLong_Check(argument)) {
        if (argument_u64(argument, &found) && found <= UINT32_MAX) {
            *value = (uint32_t)found;
            return true;
        }
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_ValueError, "a checksum is a number of 32 bits");
    return false;
}

static bool argument_salt(PyObject *argument, Reader *salt) {
    if (!argument_bytes(argument, 0, salt)) return false;
    if (left(salt) == SALT_SIZE) return true;
    PyErr_SetString(PyExc_ValueError, "no salt: it has eight bytes");
    return false;
}

/* A block. */

static void write_head(Writer *out, const Head *head) {
    uint8_t zeros[8] = {0};
    write_byte(out, head->kind);
    write_byte(out, head->flags);
    write_bytes(out, zeros, 2);
    write_le32(out, head->body_checksum);
    write_le64(out, head->synced);
    write_le64(out, head->ledger);
    write_le64(out, head->first);
    write_le64(out, head->body_size);
    write_le32(out, head->count);
    write_bytes(out, zeros, 8);
}

/* The lengths, and their sum; false with an exception. */
static bool measure(PyObject *data, Py_ssize_t count, size_t *size) {
    Reader entry;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!item_bytes(data, i, &entry) || !add_size(size, left(&entry))) return false;
        if (left(&entry) > UINT32_MAX) {
            PyErr_SetString(PyExc_ValueError, "an entry has less than 4 GiB");
            return false;
        }
    }
    return true;
}

/* All that comes behind the header: the tables, and the entries where they are small. Where they are
 * joined, the header gets the checksum of all of them. */
static bool write_tables(Writer *out, PyObject *data, PyObject *checksums, Head *head, bool small) {
    Reader entry;
    uint32_t checksum;
    for (uint32_t i = 0; i < head->count; i++) {
        if (!item_bytes(data, i, &entry)) return false;
        write_le32(out, (uint32_t)left(&entry));
    }
    for (uint32_t i = 0; i < head->count; i++) {
        if (!argument_u32(PyList_GetItem(checksums, i), &checksum)) return false;
        write_le32(out, checksum);
    }
    const uint8_t *body = out->at;
    for (uint32_t i = 0; small && i < head->count; i++) {
        if (!item_bytes(data, i, &entry)) return false;
        write_bytes(out, entry.at, left(&entry));
    }
    if (small && head->count > 1) {
        head->flags = JOINED;
        head->body_checksum = checksum_of(body, (size_t)(out->at - body));
    }
    return true;
}

/* Header, tables and small entries, as one piece. */
static PyObject *first_piece(const Reader *salt, uint32_t seed, PyObject *data, PyObject *checksums,
                             Head *head, bool small) {
    size_t covered = HEAD_SIZE + (size_t)head->count * TABLES_SIZE - COVERED_FROM;
    size_t size = COVERED_FROM + covered;
    Writer out;
    if ((small && !add_size(&size, head->body_size)) || !writer_open(&out, size)) return NULL;
    Writer start = out;
    start.end = out.at + HEAD_SIZE; /* The header's own part: it is written last. */
    out.at += HEAD_SIZE;
    if (!write_tables(&out, data, checksums, head, small)) {
        writer_drop(&out);
        return NULL;
    }
    Writer sum = start;
    start.at += COVERED_FROM;
    write_head(&start, head);
    write_bytes(&sum, salt->at, SALT_SIZE);
    write_le32(&sum, checksum_on(seed, sum.at + 4, covered));
    out.failed |= start.failed || sum.failed;
    return writer_close(&out);
}

PyObject *inner_encode_block(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    PyObject *data, *checksums;
    Py_ssize_t entries, sums;
    Head head = {.kind = BLOCK};
    Reader salt;
    uint32_t seed;
    size_t size = 0;
    if (!argument_count("encode_block", count, 7) || !argument_salt(arguments[0], &salt) ||
        !argument_u32(arguments[1], &seed) || !argument_u64(arguments[2], &head.synced) ||
        !argument_u64(arguments[3], &head.ledger) || !argument_u64(arguments[4], &head.first) ||
        !argument_list(data = arguments[5], &entries) ||
        !argument_list(checksums = arguments[6], &sums))
        return NULL;
    if (entries != sums || entries > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "lists of different lengths, or no salt");
        return NULL;
    }
    if (!measure(data, entries, &size)) return NULL;
    head.count = (uint32_t)entries;
    head.body_size = size;
    bool small = size < (size_t)JOIN_BELOW * (size_t)entries;
    PyObject *pieces = PyList_New(small ? 1 : 1 + entries);
    if (pieces == NULL) return NULL;
    bool ok = put(pieces, 0, first_piece(&salt, seed, data, checksums, &head, small));
    for (Py_ssize_t i = 0; ok && !small && i < entries; i++) {
        PyObject *entry = PyList_GetItem(data, i);
        Py_XINCREF(entry);
        ok = put(pieces, i + 1, entry);
    }
    if (ok) return pieces;
    Py_DECREF(pieces);
    return NULL;
}

/* The records in a part of the log. */

typedef struct {
    uint64_t at, ledger, first;
    uint32_t run;
    uint8_t kind;
} Record;

typedef struct {
    uint64_t ledger, behind, bodies, records;
    Py_ssize_t count, filled;
    PyObject *firsts, *places; /* Borrowed from its tuple. */
} Run;

/* All that one call cuts, before there is any Python object of it. */
typedef struct {
    Record *records, few[FEW]; /* The few, until they do not suffice. */
    size_t count, room;
    Py_ssize_t marks;
    uint64_t synced;
    Run runs[LEDGERS_MAX];
    uint32_t run_count;
    uint16_t slots[SLOTS]; /* By hash of the ledger: 1 + its run, or 0. */
} Cut;

typedef struct {
    const uint8_t *start; /* Of the bytes; what is told about is counted from here. */
    uint64_t end, place;
    Reader salt;
    uint32_t seed;
    bool verify_bodies;
} Part;

static bool read_fields(Reader *reader, Head *head) {
    uint32_t zero;
    Reader zeros;
    if (!read_le32(reader, &zero) || !read_le32(reader, &head->body_checksum) ||
        !read_le64(reader, &head->synced) || !read_le64(reader, &head->ledger) ||
        !read_le64(reader, &head->first) || !read_le64(reader, &head->body_size) ||
        !read_le32(reader, &head->count) || !read_part(reader, 8, &zeros))
        return false;
    head->kind = (uint8_t)zero;
    head->flags = (uint8_t)(zero >> 8);
    return true;
}

static bool body_intact(const Head *head, Reader lengths, Reader checksums, Reader body) {
    if (head->flags & JOINED) return checksum_of(body.at, left(&body)) == head->body_checksum;
    uint32_t length, checksum;
    Reader entry;
    for (uint32_t i = 0; i < head->count; i++)
        if (!read_le32(&lengths, &length) || !read_le32(&checksums, &checksum) ||
            !read_part(&body, length, &entry) || checksum_of(entry.at, length) != checksum)
            return false;
    return true;
}

/* One record; its body need not be here where nobody looks at it. Returns where it ends, 0 for none. */
static uint64_t read_record(const Part *part, Reader data, Head *head) {
    uint64_t at = (uint64_t)(data.at - part->start);
    Reader covered, lengths, checksums, body;
    uint32_t checksum;
    if (at > part->end || part->end - at < HEAD_SIZE ||
        !read_literal(&data, (const char *)part->salt.at, SALT_SIZE) ||
        !read_le32(&data, &checksum))
        return 0;
    covered = data;
    if (!read_fields(&data, head) || head->count > ENTRIES_MAX ||
        (head->ledger | head->first) > INT64_MAX ||
        head->synced > (part->place & OFFSET_MASK) + at ||
        !read_part(&data, 4 * (uint64_t)head->count, &lengths) ||
        !read_part(&data, 4 * (uint64_t)head->count, &checksums))
        return 0;
    covered.end = data.at;
    uint64_t body_at = (uint64_t)(data.at - part->start);
    if (body_at > part->end || part->end - body_at < head->body_size ||
        checksum_on(part->seed, covered.at, left(&covered)) != checksum)
        return 0;
    if (part->verify_bodies && (!read_part(&data, head->body_size, &body) ||
                                !body_intact(head, lengths, checksums, body)))
        return 0;
    return body_at + head->body_size;
}

/* Where a ledger's blocks are gathered, perhaps a new place; NULL when there are too many. */
static Run *find_run(Cut *cut, uint64_t ledger, uint32_t *index) {
    size_t slot = ledger % SLOTS;
    for (; cut->slots[slot] != 0; slot = (slot + 1) % SLOTS) {
        *index = cut->slots[slot] - 1u;
        if (cut->runs[*index].ledger == ledger) return &cut->runs[*index];
    }
    if (cut->run_count == LEDGERS_MAX) return NULL;
    *index = cut->run_count++;
    cut->slots[slot] = (uint16_t)(*index + 1);
    cut->runs[*index] = (Run){.ledger = ledger};
    return &cut->runs[*index];
}

/* Room for one more; false with an exception when there is no memory. */
static bool make_room(Cut *cut) {
    if (cut->count < cut->room) return true;
    Record *more = PyMem_Malloc(2 * cut->room * sizeof(Record));
    if (more == NULL) return PyErr_NoMemory(), false;
    memcpy(more, cut->records, cut->count * sizeof(Record));
    if (cut->records != cut->few) PyMem_Free(cut->records);
    cut->records = more;
    cut->room *= 2;
    return true;
}

/* False when it was not taken: there are too many ledgers. */
static bool take(Cut *cut, const Head *head, uint64_t at, uint64_t end) {
    Record *record = &cut->records[cut->count];
    *record = (Record){at, head->ledger, head->first, 0, head->kind};
    if (head->kind == BLOCK) {
        Run *run = find_run(cut, head->ledger, &record->run);
        if (run == NULL) return false;
        if (run->behind < head->first + head->count) run->behind = head->first + head->count;
        run->bodies += head->body_size;
        run->records += end - at;
        run->count++;
    } else {
        cut->marks++;
    }
    cut->count++;
    if (cut->synced < head->synced) cut->synced = head->synced;
    return true;
}

static PyObject *new_run(Run *run) {
    PyObject *tuple = PyTuple_New(6);
    if (tuple == NULL) return NULL;
    run->firsts = PyList_New(run->count);
    bool ok = put_in_tuple(tuple, 1, run->firsts);
    run->places = ok ? PyList_New(run->count) : NULL;
    if (ok && put_in_tuple(tuple, 2, run->places) &&
        put_in_tuple(tuple, 0, PyLong_FromUnsignedLongLong(run->ledger)) &&
        put_in_tuple(tuple, 3, PyLong_FromUnsignedLongLong(run->behind)) &&
        put_in_tuple(tuple, 4, PyLong_FromUnsignedLongLong(run->bodies)) &&
        put_in_tuple(tuple, 5, PyLong_FromUnsignedLongLong(run->records)))
        return tuple;
    Py_DECREF(tuple);
    return NULL;
}

static bool fill(Cut *cut, PyObject *runs, PyObject *marks, uint64_t place) {
    Py_ssize_t mark = 0;
    for (uint32_t i = 0; i < cut->run_count; i++)
        if (!put(runs, i, new_run(&cut->runs[i]))) return false;
    for (size_t i = 0; i < cut->count; i++) {
        const Record *record = &cut->records[i];
        if (record->kind != BLOCK) {
            if (!put(marks, mark++,
                     Py_BuildValue("(iKK)", (int)record->kind, (unsigned long long)record->ledger,
                                   (unsigned long long)record->first)))
                return false;
            continue;
        }
        Run *run = &cut->runs[record->run];
        Py_ssize_t at = run->filled++;
        if (!put(run->firsts, at, PyLong_FromUnsignedLongLong(record->first)) ||
            !put(run->places, at, PyLong_FromUnsignedLongLong(place + record->at)))
            return false;
    }
    return true;
}

static PyObject *result_of(Cut *cut, uint64_t place, uint64_t end) {
    PyObject *runs = PyList_New(cut->run_count), *marks = PyList_New(cut->marks);
    if (runs != NULL && marks != NULL && fill(cut, runs, marks, place))
        return Py_BuildValue("(KKNN)", (unsigned long long)end, (unsigned long long)cut->synced,
                             runs, marks);
    Py_XDECREF(runs);
    Py_XDECREF(marks);
    return NULL;
}

PyObject *inner_cut_records(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    Py_ssize_t position, end;
    Reader data;
    Part part;
    Head head;
    Cut cut;
    if (!argument_count("cut_records", count, 7) || !argument_size(arguments[1], &position) ||
        !argument_size(arguments[2], &end) || !argument_u64(arguments[3], &part.place) ||
        !argument_salt(arguments[4], &part.salt) || !argument_u32(arguments[5], &part.seed) ||
        !argument_bytes(arguments[0], position, &data))
        return NULL;
    int verify = PyObject_IsTrue(arguments[6]);
    if (verify < 0) return NULL;
    part.verify_bodies = verify != 0;
    part.start = data.at - position;
    part.end = (uint64_t)end;
    cut.records = cut.few;
    cut.room = FEW;
    cut.count = cut.run_count = 0;
    cut.marks = 0;
    cut.synced = 0;
    memset(cut.slots, 0, sizeof cut.slots);
    uint64_t at = (uint64_t)position, next;
    bool ok = true;
    while (ok && (next = read_record(&part, data, &head)) != 0) {
        ok = make_room(&cut);
        if (!ok || !take(&cut, &head, at, next)) break;
        at = next;
        if (next - (uint64_t)(data.at - part.start) > left(&data)) break; /* Its body was not all here. */
        data.at = part.start + next;
    }
    PyObject *result = ok ? result_of(&cut, part.place, at) : NULL;
    if (cut.records != cut.few) PyMem_Free(cut.records);
    return result;
}
