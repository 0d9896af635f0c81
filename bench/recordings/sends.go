// What record.py records of the official Go client.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math/rand"
	"os"

	"github.com/apache/pulsar-client-go/pulsar"
)

func main() {
	chance := rand.New(rand.NewSource(1))
	client, err := pulsar.NewClient(pulsar.ClientOptions{URL: os.Args[1]})
	if err != nil {
		log.Fatal(err)
	}
	for _, batching := range []bool{false, true} {
		producer, err := client.CreateProducer(pulsar.ProducerOptions{
			Topic:           "persistent://public/default/recorded",
			DisableBatching: !batching,
		})
		if err != nil {
			log.Fatal(err)
		}
		count := 400
		if batching {
			count = 4000
		}
		for number := 0; number < count; number++ {
			region := "us-east"
			if chance.Intn(2) == 0 {
				region = "eu-central"
			}
			producer.SendAsync(context.Background(), &pulsar.ProducerMessage{
				Payload: bytes.Repeat([]byte("x"), 717+chance.Intn(615)),
				Key:     fmt.Sprintf("customer-%d", chance.Intn(1000)),
				Properties: map[string]string{
					"source": "orders",
					"region": region,
					"trace":  fmt.Sprintf("%x", chance.Int63()),
				},
			}, func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
				if err != nil {
					log.Fatal(err)
				}
			})
		}
		if err := producer.FlushWithCtx(context.Background()); err != nil {
			log.Fatal(err)
		}
	}
	os.Exit(0)
}
