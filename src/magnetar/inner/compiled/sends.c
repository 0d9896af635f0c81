/* Cuts runs of plain sends out of received bytes: plain/sends.py says what they are. */
#include "inner.h"

#define RUNS_MAX 128 /* as in plain/sends.py */
#define SLOTS 256    /* a power of two, and more than producers: a search ends */
#define FEW 64

typedef struct {
    uint64_t sequence, highest, most, least;
    uint32_t message_count, checksum, run;
    bool usual, in_transaction;
    Reader entry;
} Send;

typedef struct {
    uint64_t producer, message_count, most, least;
    Py_ssize_t count, filled;
    size_t size;
    bool usual, in_transaction;
    PyObject *sequences, *data, *checksums, *message_counts, *highest; /* Borrowed from its tuple. */
} Run;

/* All that one call cuts, before there is any Python object of it. */
typedef struct {
    Send *sends, few[FEW]; /* The few, until they do not suffice. */
    size_t count, room;
    Run runs[RUNS_MAX];
    uint32_t run_count;
    uint8_t slots[SLOTS]; /* By hash of the producer: 1 + its last run, or 0. */
} Cut;

/* A varint, and where it stands. */
static bool read_span(Reader *reader, uint64_t *value, Reader *span) {
    span->at = reader->at;
    bool ok = read_varint(reader, value);
    span->end = reader->at;
    return ok;
}

static bool read_command(Reader command, uint64_t *producer, Send *send, Transaction *said) {
    uint64_t count = 1;
    uint8_t size;
    if (!read_literal(&command, "\x08\x06\x32", 3) || !read_byte(&command, &size) ||
        size != left(&command) || !read_tag(&command, 0x08) || !read_varint(&command, producer) ||
        !read_tag(&command, 0x10) || !read_varint(&command, &send->sequence))
        return false;
    if (read_tag(&command, 0x18) && !read_varint(&command, &count)) return false;
    if (count > INT32_MAX) return false;
    send->message_count = (uint32_t)count;
    send->most = send->least = 0;
    send->in_transaction = read_tag(&command, 0x20);
    if (send->in_transaction &&
        (!read_span(&command, &send->least, &said->least) || !read_tag(&command, 0x28) ||
         !read_span(&command, &send->most, &said->most)))
        return false;
    send->highest = 0;
    if (read_tag(&command, 0x30) && !read_varint(&command, &send->highest)) return false;
    return left(&command) == 0;
}

static bool read_send(Reader *data, uint64_t total_size_max, uint64_t *producer, Send *send) {
    uint32_t total_size, command_size;
    Reader frame, command;
    Transaction said;
    if (!read_u32(data, &total_size) || total_size > total_size_max ||
        !read_part(data, total_size, &frame) || !read_u32(&frame, &command_size) ||
        !read_part(&frame, command_size, &command) ||
        !read_command(command, producer, send, &said) ||
        !read_literal(&frame, "\x0e\x01", 2) || !read_u32(&frame, &send->checksum))
        return false;
    send->entry = frame;
    send->usual =
        entry_is_usual(frame, send->message_count, send->in_transaction ? &said : NULL);
    return left(&frame) > 0 && checksum_of(frame.at, left(&frame)) == send->checksum;
}

/* Which run a send belongs to, perhaps a new one; false when there are too many. */
static bool find_run(Cut *cut, uint64_t producer, Send *send) {
    size_t slot = producer % SLOTS;
    for (; cut->slots[slot] != 0; slot = (slot + 1) % SLOTS) {
        const Run *run = &cut->runs[cut->slots[slot] - 1u];
        if (run->producer != producer) continue;
        send->run = cut->slots[slot] - 1u;
        if (run->in_transaction == send->in_transaction && run->most == send->most &&
            run->least == send->least)
            return true;
        break;
    }
    if (cut->run_count == RUNS_MAX) return false;
    send->run = cut->run_count++;
    cut->slots[slot] = (uint8_t)(send->run + 1);
    cut->runs[send->run] = (Run){.producer = producer,
                                 .most = send->most,
                                 .least = send->least,
                                 .in_transaction = send->in_transaction,
                                 .usual = true};
    return true;
}

/* One more; false with an exception when there is no memory. */
static bool add(Cut *cut, const Send *send) {
    if (cut->count == cut->room) {
        Send *more = PyMem_Malloc(2 * cut->room * sizeof(Send));
        if (more == NULL) return PyErr_NoMemory(), false;
        memcpy(more, cut->sends, cut->count * sizeof(Send));
        if (cut->sends != cut->few) PyMem_Free(cut->sends);
        cut->sends = more;
        cut->room *= 2;
    }
    cut->sends[cut->count++] = *send;
    Run *run = &cut->runs[send->run];
    run->count++;
    run->size += left(&send->entry); /* All lie one behind the other in memory. */
    run->message_count += send->message_count;
    run->usual = run->usual && send->usual;
    return true;
}

/* A list of so many items, yet to be put; it belongs to the tuple. */
static PyObject *new_list(PyObject *tuple, Py_ssize_t index, Py_ssize_t count) {
    PyObject *list = PyList_New(count);
    return put_in_tuple(tuple, index, list) ? list : NULL;
}

static PyObject *transaction_of(const Run *run) {
    return run->in_transaction ? Py_BuildValue("(KK)", (unsigned long long)run->most,
                                               (unsigned long long)run->least)
                               : Py_NewRef(Py_None);
}

/* (producer, sequences, data, checksums, message counts, highest, size, messages, usual,
 * transaction), the lists yet to be filled. */
static PyObject *new_run(Run *run) {
    PyObject *tuple = PyTuple_New(10);
    if (tuple == NULL) return NULL;
    if (put_in_tuple(tuple, 0, PyLong_FromUnsignedLongLong(run->producer)) &&
        (run->sequences = new_list(tuple, 1, run->count)) != NULL &&
        (run->data = new_list(tuple, 2, run->count)) != NULL &&
        (run->checksums = new_list(tuple, 3, run->count)) != NULL &&
        (run->message_counts = new_list(tuple, 4, run->count)) != NULL &&
        (run->highest = new_list(tuple, 5, run->count)) != NULL &&
        put_in_tuple(tuple, 6, PyLong_FromSize_t(run->size)) &&
        put_in_tuple(tuple, 7, PyLong_FromUnsignedLongLong(run->message_count)) &&
        put_in_tuple(tuple, 8, PyBool_FromLong(run->usual)) &&
        put_in_tuple(tuple, 9, transaction_of(run)))
        return tuple;
    Py_DECREF(tuple);
    return NULL;
}

static bool fill(Run *run, const Send *send) {
    Py_ssize_t at = run->filled++;
    return put(run->sequences, at, PyLong_FromUnsignedLongLong(send->sequence)) &&
           put(run->data, at, bytes_of(&send->entry)) &&
           put(run->checksums, at, PyLong_FromUnsignedLong(send->checksum)) &&
           put(run->message_counts, at, PyLong_FromUnsignedLong(send->message_count)) &&
           put(run->highest, at, PyLong_FromUnsignedLongLong(send->highest));
}

static PyObject *runs_of(Cut *cut) {
    PyObject *runs = PyList_New(cut->run_count);
    if (runs == NULL) return NULL;
    bool ok = true;
    for (uint32_t i = 0; ok && i < cut->run_count; i++) ok = put(runs, i, new_run(&cut->runs[i]));
    for (size_t i = 0; ok && i < cut->count; i++)
        ok = fill(&cut->runs[cut->sends[i].run], &cut->sends[i]);
    if (ok) return runs;
    Py_DECREF(runs);
    return NULL;
}

PyObject *inner_cut_sends(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    Py_ssize_t position, total_size_max;
    Reader data;
    Send send;
    uint64_t producer;
    Cut cut;
    if (!argument_count("cut_sends", count, 3) || !argument_size(arguments[1], &position) ||
        !argument_size(arguments[2], &total_size_max) ||
        !argument_bytes(arguments[0], position, &data))
        return NULL;
    cut.sends = cut.few;
    cut.room = FEW;
    cut.count = cut.run_count = 0;
    memset(cut.slots, 0, sizeof cut.slots);
    const uint8_t *start = data.at, *end = data.at;
    bool ok = true;
    while (ok && read_send(&data, (uint64_t)total_size_max, &producer, &send) &&
           find_run(&cut, producer, &send)) {
        ok = add(&cut, &send);
        end = data.at;
    }
    PyObject *runs = ok ? runs_of(&cut) : NULL;
    if (cut.sends != cut.few) PyMem_Free(cut.sends);
    return runs == NULL ? NULL : Py_BuildValue("(nN)", position + (end - start), runs);
}
