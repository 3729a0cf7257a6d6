/* The least that one thread can do per request on loopback: one send, one receive and a share of
 * one epoll_wait. No parsing beyond the length of the answer, no clock, no record of latencies.
 * The yardstick of `make bench`: a generator is quoted as a multiple of this.
 *
 * usage: floor HOST PORT CONNECTIONS SECONDS keep|close|think
 *
 * "think" rests a second between an answer and the next request of its connection, as think.js does.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 256, ANSWER_MAX = 65536 };

static struct sockaddr_in target;
static char request[512];
static size_t request_length;
static size_t answer_length; /* every answer is as long as the first */
static int poll_fd;

struct connection {
    int fd;
    size_t received;
    double wakes; /* when its rest is over */
    struct connection *next;
};

/* Those at rest. All rest equally long, so the first to come is the first to go. */
static struct connection *rest_first, *rest_last;

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void watch(struct connection *connection) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = connection};
    if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, connection->fd, &event) != 0) die("epoll_ctl");
}

static void send_request(struct connection *connection) {
    connection->received = 0;
    ssize_t sent = send(connection->fd, request, request_length, MSG_NOSIGNAL);
    if (sent != (ssize_t)request_length) die("send");
}

/* A loopback connect completes at once, so it may block and the request may follow it directly. */
static void open_connection(struct connection *connection) {
    int on = 1;
    connection->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connection->fd < 0) die("socket");
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(connection->fd, (struct sockaddr *)&target, sizeof target) != 0) die("connect");
    watch(connection);
    send_request(connection);
}

static void learn_answer_length(struct connection *connection) {
    char answer[ANSWER_MAX + 1];
    ssize_t got = recv(connection->fd, answer, ANSWER_MAX, 0);
    if (got <= 0) die("recv");
    answer[got] = 0;
    const char *body = strstr(answer, "\r\n\r\n");
    const char *length = strcasestr(answer, "\r\ncontent-length:");
    if (strncmp(answer, "HTTP/1.1 200", 12) != 0 || body == NULL || length == NULL) {
        fprintf(stderr, "floor: the target's answer is not a 200 with Content-Length\n");
        exit(1);
    }
    answer_length = (size_t)(body + 4 - answer) + strtoul(length + 17, NULL, 10);
    connection->received = (size_t)got;
}

/* One receive per readiness; returns 1 when the answer is complete. */
static int receive(struct connection *connection) {
    static char sink[ANSWER_MAX];
    ssize_t got = recv(connection->fd, sink, sizeof sink, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return 0;
    if (got <= 0) {
        fprintf(stderr, "floor: the target closed a connection\n");
        exit(1);
    }
    connection->received += (size_t)got;
    return connection->received >= answer_length;
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void rest(struct connection *connection) {
    connection->wakes = seconds_now() + 1;
    connection->next = NULL;
    if (rest_first == NULL) rest_first = connection;
    else rest_last->next = connection;
    rest_last = connection;
}

/* Sends for everyone whose rest is over; returns how many milliseconds the next one still rests. */
static int wake(void) {
    double now = seconds_now();
    while (rest_first != NULL && rest_first->wakes <= now) {
        send_request(rest_first);
        rest_first = rest_first->next;
    }
    return rest_first == NULL ? 100 : (int)((rest_first->wakes - now) * 1e3) + 1;
}

int main(int count, char **arguments) {
    if (count != 6) {
        fprintf(stderr, "usage: floor HOST PORT CONNECTIONS SECONDS keep|close|think\n");
        return 2;
    }
    int connections = atoi(arguments[3]);
    int think = strcmp(arguments[5], "think") == 0;
    int keep = think || strcmp(arguments[5], "keep") == 0;
    target.sin_family = AF_INET;
    target.sin_port = htons((unsigned short)atoi(arguments[2]));
    if (inet_pton(AF_INET, arguments[1], &target.sin_addr) != 1) die("address");
    request_length = (size_t)snprintf(request, sizeof request,
        "GET / HTTP/1.1\r\nHost: %s:%s\r\n%s\r\n", arguments[1], arguments[2],
        keep ? "" : "Connection: close\r\n");
    poll_fd = epoll_create1(0);

    struct connection *all = calloc((size_t)connections, sizeof *all);
    open_connection(&all[0]);
    learn_answer_length(&all[0]);
    close(all[0].fd);
    for (int index = 0; index < connections; index++) open_connection(&all[index]);

    struct epoll_event events[EVENTS_MAX];
    unsigned long done = 0;
    double end = seconds_now() + atof(arguments[4]);
    while (seconds_now() < end) {
        int ready = epoll_wait(poll_fd, events, EVENTS_MAX, think ? wake() : 100);
        for (int index = 0; index < ready; index++) {
            struct connection *connection = events[index].data.ptr;
            if (!receive(connection)) continue;
            done++;
            if (think) {
                rest(connection);
            } else if (keep) {
                send_request(connection);
            } else {
                close(connection->fd);
                open_connection(connection);
            }
        }
    }
    printf("%lu answers\n", done);
    return 0;
}
