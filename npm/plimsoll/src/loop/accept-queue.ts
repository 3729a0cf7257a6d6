// How many connections wait in the kernel until this process accepts them. Node accepts one per turn of its loop, so that
// what it cannot do waits there, where nothing in the process sees it. Linux shows the length of that queue.

import { closeSync, openSync, readSync } from 'node:fs';
import type { AddressInfo } from 'node:net';

const LISTENING = '0A';
/** One read gives a page, that is some 25 sockets. */
const READ_BYTES = 8_192;
/** Listening sockets come first in the table: so much of it holds some eight hundred. */
const TABLE_MOST = 131_072;

/** Connections that wait on a port, in the text of `/proc/net/tcp` or `tcp6`; undefined if nobody listens on it there. */
export function waitingIn(table: string, port: number): number | undefined {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  let waiting: number | undefined;
  for (const line of table.split('\n').slice(1)) {
    const [, local, , state, queues] = line.trim().split(/\s+/);
    if (state !== LISTENING || local === undefined || queues === undefined) {
      continue;
    }
    if (local.endsWith(`:${wanted}`)) {
      const length = Number.parseInt(queues.slice(queues.indexOf(':') + 1), 16);
      waiting = (waiting ?? 0) + (Number.isNaN(length) ? 0 : length);
    }
  }
  return waiting;
}

/** Of the rest of a table nothing is wanted once its last whole line is of a socket that does not listen. */
function isPastListening(table: string): boolean {
  const end = table.lastIndexOf('\n');
  const line = table.slice(table.lastIndexOf('\n', end - 1) + 1, Math.max(end, 0));
  const [number, , , state] = line.trim().split(/\s+/);
  return number !== 'sl' && state !== undefined && state !== LISTENING;
}

/** The listening sockets of a table, which `more` gives piece by piece, empty at its end. Whole lines only. */
export function listeningIn(more: () => string): string {
  let table = '';
  while (table.length < TABLE_MOST && !isPastListening(table)) {
    const piece = more();
    if (piece === '') {
      break;
    }
    table += piece;
  }
  // Half a line may have half a length of a queue.
  return table.slice(0, table.lastIndexOf('\n') + 1);
}

function read(path: string): string {
  try {
    const file = openSync(path, 'r');
    try {
      const buffer = Buffer.allocUnsafe(READ_BYTES);
      return listeningIn(() => buffer.toString('latin1', 0, readSync(file, buffer, 0, READ_BYTES, null)));
    } finally {
      closeSync(file);
    }
  } catch {
    // Not Linux, or no such table: then it cannot be seen.
    return '';
  }
}

/** Connections that wait for a server that listens on a TCP port; undefined where that cannot be seen. */
export function acceptQueue(address: AddressInfo | string | null): number | undefined {
  if (process.platform !== 'linux' || address === null || typeof address === 'string') {
    return undefined;
  }
  const four = waitingIn(read('/proc/net/tcp'), address.port);
  const six = waitingIn(read('/proc/net/tcp6'), address.port);
  return four === undefined && six === undefined ? undefined : (four ?? 0) + (six ?? 0);
}
