// What the Go client does in transactions. A line is printed for each step that is over; what came
// of it is looked at from outside. After "restart" it waits for a line of its input.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
)

var client pulsar.Client
var ctx = context.Background()

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	client = must(pulsar.NewClient(pulsar.ClientOptions{
		URL:               os.Args[1],
		EnableTransaction: true,
		Logger:            log.NewLoggerWithSlog(quiet),
	}))
	defer client.Close()
	step("commit", func() string { return sends("commit", false, 10, true) })
	step("abort", func() string { return sends("abort", false, 10, false) })
	step("batched", func() string { return sends("batched", true, 25, true) })
	step("chunked", chunked)
	step("ten topics", tenTopics)
	step("acknowledged", func() string { return acknowledges("acknowledged", true) })
	step("given back", func() string { return acknowledges("given-back", false) })
	step("conflict", conflict)
	step("time out", timesOut)
	step("moved", moves)
	step("reconnect", reconnects)
}

func step(name string, run func() string) {
	defer func() {
		if err := recover(); err != nil {
			fmt.Printf("%s: failed %v\n", name, err)
		}
	}()
	fmt.Printf("%s: %s\n", name, run())
}

func topic(name string) string { return "persistent://public/default/go-" + name }

func producer(name string, batched bool) pulsar.Producer {
	return must(client.CreateProducer(pulsar.ProducerOptions{
		Topic:                   topic(name),
		DisableBatching:         !batched,
		BatchingMaxMessages:     10,
		BatchingMaxPublishDelay: time.Second,
		SendTimeout:             -1,
	}))
}

func consumer(name string) pulsar.Consumer {
	return must(client.Subscribe(pulsar.ConsumerOptions{
		Topic:                          topic(name),
		SubscriptionName:               "s",
		Type:                           pulsar.Shared,
		SubscriptionInitialPosition:    pulsar.SubscriptionPositionEarliest,
		EnableBatchIndexAcknowledgment: true,
		AckWithResponse:                true,
	}))
}

func begin(life time.Duration) pulsar.Transaction { return must(client.NewTransaction(life)) }

func end(txn pulsar.Transaction, commit bool) {
	if commit {
		check(txn.Commit(ctx))
	} else {
		check(txn.Abort(ctx))
	}
}

func send(to pulsar.Producer, txn pulsar.Transaction, from, count int) {
	answers := make(chan error, count)
	for number := from; number < from+count; number++ {
		message := &pulsar.ProducerMessage{Payload: []byte(strconv.Itoa(number)), Transaction: txn}
		to.SendAsync(ctx, message, func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
			answers <- err
		})
	}
	for range count {
		check(<-answers)
	}
}

func sendOne(to pulsar.Producer, txn pulsar.Transaction, payload []byte) {
	must(to.Send(ctx, &pulsar.ProducerMessage{Payload: payload, Transaction: txn}))
}

func sends(name string, batched bool, count int, commit bool) string {
	to := producer(name, batched)
	txn := begin(time.Minute)
	send(to, txn, 0, count)
	end(txn, commit)
	to.Close()
	// Its batches name the last transaction for ever (v0.19), so this needs another producer.
	plain := producer(name, batched)
	defer plain.Close()
	sendOne(plain, nil, []byte("last"))
	return "done"
}

func chunked() string {
	to := must(client.CreateProducer(pulsar.ProducerOptions{
		Topic:               topic("chunked"),
		DisableBatching:     true,
		EnableChunking:      true,
		ChunkMaxMessageSize: 1000,
	}))
	defer to.Close()
	for _, commit := range []bool{true, false} {
		txn := begin(time.Minute)
		sendOne(to, txn, make([]byte, 20_000))
		end(txn, commit)
	}
	return "done"
}

func tenTopics() string {
	var all []pulsar.Producer
	for number := range 10 {
		all = append(all, producer("ten-"+strconv.Itoa(number), false))
	}
	for _, commit := range []bool{true, false} {
		txn := begin(time.Minute)
		for _, to := range all {
			sendOne(to, txn, []byte(strconv.FormatBool(commit)))
		}
		end(txn, commit)
	}
	for _, to := range all {
		to.Close()
	}
	return "done"
}

// Of ten messages it acknowledges the first five.
func acknowledges(name string, commit bool) string {
	to, from := producer(name, false), consumer(name)
	defer to.Close()
	defer from.Close()
	send(to, nil, 0, 10)
	txn := begin(time.Minute)
	for range 5 {
		check(from.AckWithTxn(must(from.Receive(ctx)), txn))
	}
	end(txn, commit)
	return "done"
}

func conflict() string {
	to, from := producer("conflict", false), consumer("conflict")
	defer to.Close()
	defer from.Close()
	sendOne(to, nil, []byte("once"))
	message := must(from.Receive(ctx))
	first, second := begin(time.Minute), begin(time.Minute)
	check(from.AckWithTxn(message, first))
	refused := from.AckWithTxn(message, second) // After which the client lets nothing be done in it.
	end(first, true)
	if refused == nil {
		return "taken"
	}
	return "refused"
}

func timesOut() string {
	to := producer("late", false)
	defer to.Close()
	txn := begin(time.Second)
	send(to, txn, 0, 5)
	sendOne(to, nil, []byte("last"))
	from := consumer("late")
	seen := string(must(from.Receive(ctx)).Payload())
	from.Close()
	err := txn.Commit(ctx)
	var refused *pulsar.Error
	if err == nil || !errors.As(err, &refused) {
		return fmt.Sprintf("%s, then %v", seen, err)
	}
	return seen + " refused"
}

// From one topic to another, ten messages a transaction; every other one is tried twice.
func moves() string {
	source, target, from := producer("from", false), producer("to", false), consumer("from")
	defer source.Close()
	defer target.Close()
	defer from.Close()
	send(source, nil, 0, 100)
	ended := 0
	for moved := 0; moved < 100; ended++ {
		txn := begin(time.Minute)
		for range 10 {
			message := must(from.Receive(ctx))
			sendOne(target, txn, message.Payload())
			check(from.AckWithTxn(message, txn))
		}
		commit := ended%2 == 1
		end(txn, commit)
		if commit {
			moved += 10
		}
	}
	return fmt.Sprintf("%d ended", ended)
}

func reconnects() string {
	to := producer("reconnect", false)
	defer to.Close()
	txn := begin(time.Minute)
	send(to, txn, 0, 5)
	fmt.Println("restart")
	must(bufio.NewReader(os.Stdin).ReadString('\n'))
	send(to, txn, 5, 5)
	end(txn, true)
	return "done"
}
