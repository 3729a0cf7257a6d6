// The answer of a refusal: small, made in advance, with a time to come again. And the field that says how full the process is.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Refusal } from './admission/admission.js';

/** `late`: the event loop itself is overloaded. */
export type Reason = Refusal | 'late';

const BODY = 'more is asked of this service than it can do\n';
/** A body up to this size is passed over so that the connection can go on; a longer one is not worth reading. */
const BODY_READ_MOST = 65_536;
/** Seconds over which those who were refused together come again at least. `Retry-After` has whole seconds: four of them, so
 * that a quarter comes in each, and nobody waits long for a service that will be free in one. */
const SPREAD_LEAST = 4;
const LOAD = 'Endpoint-Load-Metrics';

/** Seconds to come again after: at random up to twice the backlog and four at least, so that those who were refused together
 * come apart. */
export function retryAfter(backlogSeconds: number, most: number, random: number): number {
  const spread = Math.min(Math.max(2 * backlogSeconds, SPREAD_LEAST), most);
  return Math.floor(Math.min(1 + random * spread, most));
}

/** Whether what is left of the request on the wire is more than a refusal should read. */
function hasLongBody(req: IncomingMessage): boolean {
  if (req.headers['transfer-encoding'] !== undefined) {
    return true;
  }
  return Number(req.headers['content-length'] ?? 0) > BODY_READ_MOST;
}

/** The text format of the open request cost aggregation, which balancers read. The larger of `load` and what another instance
 * has said on this answer: a balancer must know of the fullest part. */
function loadText(res: ServerResponse, load: number): string {
  const said = res.getHeader(LOAD);
  const other = said === undefined ? undefined : /application_utilization=(\d+(?:\.\d+)?)/.exec(String(said))?.[1];
  return `TEXT application_utilization=${Math.max(load, Number(other ?? 0))}`;
}

/** Says on an answer how full the process is, from 0 to 1. */
export function sayLoad(res: ServerResponse, load: number): void {
  if (!res.headersSent) {
    res.setHeader(LOAD, loadText(res, load));
  }
}

/** `load` as in `sayLoad`, unless that is not to be said. */
export function refuse(
  req: IncomingMessage,
  res: ServerResponse,
  reason: Reason,
  status: number,
  seconds: number,
  load: number | undefined,
): void {
  if (res.headersSent || res.destroyed) {
    return;
  }
  const headers = [
    'Content-Type',
    'text/plain; charset=utf-8',
    'Content-Length',
    String(BODY.length),
    'Cache-Control',
    'no-store',
    'X-Plimsoll',
    reason,
    'Retry-After',
    String(seconds),
  ];
  if (load !== undefined) {
    headers.push(LOAD, loadText(res, load));
  }
  // A field of the connection, which HTTP/2 does not have: there a stream simply ends.
  if (req.httpVersionMajor === 1 && hasLongBody(req)) {
    headers.push('Connection', 'close');
  }
  res.writeHead(status, headers);
  res.end(req.method === 'HEAD' ? undefined : BODY);
}
