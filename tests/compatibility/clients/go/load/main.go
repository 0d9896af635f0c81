// Publishes numbers to the topics that follow the service URL until its input ends, and prints each
// answer: "A topic number ledger", or "R topic number why"; at last "S numbers", how many it sent.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
)

var said sync.Mutex

func say(format string, values ...any) {
	said.Lock()
	defer said.Unlock()
	fmt.Printf(format+"\n", values...)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	client := must(pulsar.NewClient(pulsar.ClientOptions{
		URL:    os.Args[1],
		Logger: log.NewLoggerWithSlog(quiet),
	}))
	defer client.Close()
	producers := []pulsar.Producer{}
	for _, topic := range os.Args[2:] {
		producers = append(producers, must(client.CreateProducer(pulsar.ProducerOptions{
			Topic:           topic,
			DisableBatching: true,
			SendTimeout:     -1,
		})))
	}
	ended := make(chan bool)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	number := 0
	for ending := false; !ending; number++ {
		for topic, producer := range producers {
			send(producer, topic, number)
		}
		select {
		case <-ended:
			ending = true
		case <-time.After(20 * time.Millisecond):
		}
	}
	for _, producer := range producers {
		must(true, producer.FlushWithCtx(context.Background()))
	}
	say("S %d", number)
}

func send(producer pulsar.Producer, topic int, number int) {
	message := &pulsar.ProducerMessage{Payload: []byte(strconv.Itoa(number))}
	producer.SendAsync(context.Background(), message,
		func(id pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
			if err == nil {
				say("A %d %d %d", topic, number, id.LedgerID())
			} else {
				say("R %d %d %v", topic, number, err)
			}
		})
}
