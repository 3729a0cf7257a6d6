// When an answer is over: it was given, or its client has left. Node does not always say so with the event one expects.

import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Told = () => void;

/** Of a connection: those to tell when it closes, of answers that had no turn on it until now. */
const turnless = new WeakMap<Socket, Set<Told>>();

/** What is used of a stream of HTTP/2. */
interface Stream extends EventEmitter {
  readonly destroyed: boolean;
}

/** The stream of an answer of HTTP/2. */
function streamOf(req: IncomingMessage, res: ServerResponse): Stream | undefined {
  return req.httpVersionMajor === 2 ? (res as unknown as { readonly stream?: Stream }).stream : undefined;
}

/** Whether nobody gets this answer any more: its `close` has been, or will never come. */
export function isOver(req: IncomingMessage, res: ServerResponse): boolean {
  const stream = streamOf(req, res);
  if (stream !== undefined) {
    return stream.destroyed;
  }
  const isTurnless = res.socket === null;
  return res.destroyed === true || (isTurnless && (req.socket as Socket | undefined)?.destroyed === true);
}

/** Tells once, when the answer is over; at once if it is already. */
export function whenOver(req: IncomingMessage, res: ServerResponse, over: Told): void {
  if (isOver(req, res)) {
    over();
    return;
  }
  // A pipelined request has no connection until the answers before it are given. If that never happens, Node 20 emits no
  // `close` of its answer.
  const waiters = res.socket === null ? waitersOf(req.socket) : undefined;
  let isTold = false;
  const told = (): void => {
    if (!isTold) {
      isTold = true;
      waiters?.delete(told);
      over();
    }
  };
  waiters?.add(told);
  // Of an answer to a HEAD that breaks off, HTTP/2 emits `close` on the stream only.
  const emitter: EventEmitter = streamOf(req, res) ?? res;
  emitter.once('close', told);
}

function waitersOf(socket: Socket | undefined): Set<Told> | undefined {
  // Requests that were made up, as tests do, may have no real one.
  if (typeof socket?.once !== 'function') {
    return undefined;
  }
  const known = turnless.get(socket);
  if (known !== undefined) {
    return known;
  }
  const waiters = new Set<Told>();
  turnless.set(socket, waiters);
  socket.once('close', () => {
    // Each in a turn of its own: one that throws keeps no other from being told.
    for (const told of waiters) {
      process.nextTick(told);
    }
  });
  return waiters;
}
