// Plimsoll for Node: `plimsoll(options)` makes an instance, which protects a server, or is the middleware of a framework.

import cluster from 'node:cluster';
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server as NetServer } from 'node:net';
import { threadId } from 'node:worker_threads';
import { Gate } from './gate.js';
import { acceptQueue } from './loop/accept-queue.js';
import { lateness } from './loop/shedder.js';
import { loopWatch } from './loop/watch.js';
import { metricsText } from './metrics.js';
import { settings, type Options, type Settings } from './options.js';
import { whenOver } from './over.js';

export type { Priority } from './admission/classes.js';
export type { Options } from './options.js';

/** What an instance says of itself. Counts are since its start. */
export interface State {
  /** 0 to 100: share of the limit in use, 100 while requests are refused. */
  readonly saturation: number;
  /** How many requests may be worked on at once; between whole numbers. */
  readonly limit: number;
  readonly inFlight: number;
  readonly waiting: number;
  /** How late the event loop was in the last quarter of a second, without garbage collection, in milliseconds. */
  readonly lagMs: number;
  /** Share of requests that the state of the loop lets pass. */
  readonly passRatio: number;
  /** Connections that wait in the kernel until Node accepts them; undefined where that cannot be seen. */
  readonly acceptQueue: number | undefined;
  readonly arrivedCount: number;
  readonly admittedCount: number;
  readonly servedCount: number;
  readonly failedCount: number;
  /** Clients that left before the answer. */
  readonly leftCount: number;
  /** Nobody is in a dry run. */
  readonly refusedCount: { readonly full: number; readonly waited: number; readonly late: number };
  /** Requests that only a dry run let through. */
  readonly wouldRefuseCount: number;
  /** Which worker of a cluster this is, and which thread of the process; 0 for the first. */
  readonly worker: number;
  readonly thread: number;
}

type Next = (error?: unknown) => void;
/** What is used of Koa's context. */
interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  respond?: boolean | undefined;
}
/** What is used of a Fastify instance; its own type of a hook depends on generics that are none of our business. */
interface FastifyLike {
  readonly server: unknown;
  addHook(name: 'onRequest', hook: any): unknown;
}
interface FastifyRequestLike {
  readonly raw: IncomingMessage;
}
interface FastifyReplyLike {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

export class Plimsoll {
  private readonly settings: Settings;
  private readonly gate: Gate;
  private readonly servers = new Set<NetServer>();

  constructor(options?: Options) {
    this.settings = settings(options);
    this.gate = new Gate(this.settings, () => this.kernelQueue());
  }

  /**
   * Stands in front of everything that listens to a server's requests, also what is added later: a refused request reaches
   * no framework. For servers of node:http, node:https and node:http2; gives back the server.
   */
  protect<S extends EventEmitter>(server: S): S {
    const net = server as unknown as NetServer;
    if (typeof server?.emit !== 'function' || typeof net.address !== 'function') {
      throw new TypeError('plimsoll: protect needs a server, such as http.createServer() or app.listen() give');
    }
    if (this.servers.has(net)) {
      return server;
    }
    this.servers.add(net);
    server.once('close', () => this.servers.delete(net));
    const emit = server.emit;
    const gate = this.gate;
    const ownEmit = function (this: S, event: string | symbol, ...given: unknown[]): boolean {
      const [req, res] = given as [IncomingMessage, ServerResponse];
      switch (event) {
        case 'connection':
          gate.connected();
          return emit.call(this, event, ...given);
        case 'request':
        case 'checkExpectation':
          gate.enter(req, res, () => emit.call(this, event, ...given));
          return true;
        case 'checkContinue':
          gate.enter(req, res, () => goOn(this, emit, req, res));
          return true;
        default:
          return emit.call(this, event, ...given);
      }
    } as S['emit'];
    server.emit = ownEmit;
    ownEmits.add(ownEmit);
    // Without a listener Node invites the body before anybody could refuse it.
    server.on('checkContinue', ours);
    return server;
  }

  /** Middleware of Express 4 and 5, and of what has their form. Only `protect` refuses before the framework works. */
  express(): (req: IncomingMessage, res: ServerResponse, next: Next) => void {
    return (req, res, next) => this.gate.enter(req, res, () => next());
  }

  /** Middleware of Koa. Only `protect` refuses before the framework works. */
  koa(): (context: KoaContext, next: () => Promise<unknown>) => Promise<unknown> {
    return (context, next) =>
      new Promise((resolve, reject) => {
        // Koa answers itself unless told otherwise, so a refused request must not reach its end; it is answered already.
        let isWorking = false;
        whenOver(context.req, context.res, () => isWorking || resolve(undefined));
        const respond = context.respond;
        context.respond = false;
        this.gate.enter(context.req, context.res, () => {
          isWorking = true;
          context.respond = respond;
          next().then(resolve, reject);
        });
      });
  }

  /** Plugin of Fastify 5: `fastify.register(shed.fastify)`. Refuses before Fastify's own work. */
  readonly fastify = Object.assign(
    (fastify: FastifyLike, _options: unknown, done: () => void): void => {
      this.protect(fastify.server as EventEmitter);
      // Of a second server, which Fastify opens where `localhost` has two addresses, only this hook sees requests.
      fastify.addHook('onRequest', (request: FastifyRequestLike, reply: FastifyReplyLike, next: Next) => {
        const res = reply.raw;
        let isWorking = false;
        this.gate.enter(request.raw, res, () => {
          isWorking = true;
          next();
        });
        if (!isWorking && res.headersSent) {
          reply.hijack();
        }
      });
      done();
    },
    // For all routes, not only for those that are registered beside it.
    { [Symbol.for('skip-override')]: true },
  );

  /** How late the event loop was in the last quarter of a second, without garbage collection, in milliseconds. */
  lag(): number {
    return lateness(loopWatch.window());
  }

  /** 0 to 100: share of the limit in use, 100 while requests are refused; smoothed over a second. */
  get saturation(): number {
    return this.gate.saturation();
  }

  state(): State {
    const { admission } = this.gate;
    const { counts } = admission;
    const turnedAway = { full: counts.refusedFull, waited: counts.refusedWaited, late: this.gate.late };
    const { dryRun } = this.settings;
    return {
      saturation: this.saturation,
      limit: admission.explain().level,
      inFlight: admission.inFlight,
      waiting: admission.waiting(),
      lagMs: this.lag(),
      passRatio: this.gate.passRatio(),
      acceptQueue: this.kernelQueue(),
      arrivedCount: counts.arrived + turnedAway.late,
      admittedCount: counts.admitted,
      servedCount: counts.served,
      failedCount: counts.failed,
      leftCount: counts.left + counts.leftWaiting,
      refusedCount: dryRun ? { full: 0, waited: 0, late: 0 } : turnedAway,
      wouldRefuseCount: dryRun ? turnedAway.full + turnedAway.waited + turnedAway.late : 0,
      worker: cluster.worker?.id ?? 0,
      thread: threadId,
    };
  }

  /** The same in the text format of Prometheus. */
  metrics(): string {
    return metricsText(this.state(), this.settings.name);
  }

  /** Stops looking at the loop. Servers that it protects go on, and who is let in is still counted. */
  close(): void {
    this.gate.close();
  }

  private kernelQueue(): number | undefined {
    let all: number | undefined;
    for (const server of this.servers) {
      const waiting = server.listening ? acceptQueue(server.address()) : undefined;
      all = waiting === undefined ? all : (all ?? 0) + waiting;
    }
    return all;
  }
}

/** What `protect` puts in the place of a server's `emit`. */
const ownEmits = new WeakSet<EventEmitter['emit']>();

/** Only there so that Node asks before it answers `100 Continue`. */
function ours(): void {}

/** What Node does with a request that expects `100 Continue`, unless somebody else listens for those. */
function goOn(server: EventEmitter, emit: EventEmitter['emit'], req: IncomingMessage, res: ServerResponse): void {
  const others = server.listeners('checkContinue').some((listener) => listener !== ours);
  // Another instance on this server may still refuse it, and must before the body is invited.
  if (others || ownEmits.has(emit)) {
    emit.call(server, 'checkContinue', req, res);
  } else {
    res.writeContinue();
    emit.call(server, 'request', req, res);
  }
}

/** A new instance. Several in one process are independent of each other. */
export function plimsoll(options?: Options): Plimsoll {
  return new Plimsoll(options);
}

export default plimsoll;
