// How many connections wait in the kernel until this process accepts them. Node accepts one per turn of its loop, so that
// what it cannot do waits there, where nothing in the process sees it. Linux shows the length of that queue.

import { closeSync, openSync, readSync } from 'node:fs';
import type { AddressInfo } from 'node:net';

const LISTENING = '0A';
/** Listening sockets come first in the table: so much of it holds some fifty. */
const READ_BYTES = 8_192;

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

function read(path: string): string {
  try {
    const file = openSync(path, 'r');
    try {
      const buffer = Buffer.alloc(READ_BYTES);
      return buffer.toString('latin1', 0, readSync(file, buffer, 0, READ_BYTES, 0));
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
