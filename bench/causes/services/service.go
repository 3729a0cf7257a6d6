// Command service is a small Go service with one injected limit: a lock, workers, a pool of connections, or a tier behind.
//
// usage: service lock|workers|pool|front|tier NUMBER MILLISECONDS [TIER]
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// Nobody sends it more: a larger number would never bind.
const idleConnections = 4096

// lock lets one request at a time through, asleep while it holds the mutex.
func lock(work time.Duration) http.HandlerFunc {
	var mutex sync.Mutex
	return func(answer http.ResponseWriter, _ *http.Request) {
		mutex.Lock()
		time.Sleep(work)
		mutex.Unlock()
		io.WriteString(answer, "done\n")
	}
}

// workers hands each request to one of a fixed number of goroutines and waits for it.
func workers(number int, work time.Duration) http.HandlerFunc {
	jobs := make(chan chan struct{})
	for range number {
		go func() {
			for done := range jobs {
				time.Sleep(work)
				close(done)
			}
		}()
	}
	return func(answer http.ResponseWriter, _ *http.Request) {
		done := make(chan struct{})
		jobs <- done
		<-done
		io.WriteString(answer, "done\n")
	}
}

// front asks the tier behind for every request, over as many connections as number says; 0 is no bound.
func front(tier string, number int) http.HandlerFunc {
	client := &http.Client{Transport: &http.Transport{
		MaxConnsPerHost: number, MaxIdleConnsPerHost: idleConnections, MaxIdleConns: idleConnections,
	}}
	return func(answer http.ResponseWriter, _ *http.Request) {
		reply, err := client.Get(tier)
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadGateway)
			return
		}
		defer reply.Body.Close()
		io.Copy(answer, reply.Body)
	}
}

func main() {
	number, _ := strconv.Atoi(os.Args[2])
	milliseconds, _ := strconv.ParseFloat(os.Args[3], 64)
	work := time.Duration(milliseconds * float64(time.Millisecond))
	var handler http.HandlerFunc
	switch os.Args[1] {
	case "lock":
		handler = lock(work)
	case "workers", "tier":
		handler = workers(number, work)
	case "pool", "front":
		handler = front(os.Args[4], number)
	default:
		panic("no such limit: " + os.Args[1])
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s/\n", listener.Addr())
	panic(http.Serve(listener, handler))
}
