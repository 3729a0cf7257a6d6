// Compiled, never run: the types fit those of every framework, and a wrong option is an error.
import { createServer } from 'node:http';
import express from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import standard, { plimsoll, type Options, type Plimsoll, type State } from 'plimsoll';

const options: Options = { limit: 'half-load', patience: 200, priority: (req) => (req.url === '/pay' ? 'critical' : 'default') };
const shed: Plimsoll = plimsoll(options);
standard({ limit: 16, priority: 'x-class', skip: (req) => req.url === '/health' });

const app = express();
app.use(shed.express());
app.use('/reports', plimsoll({ name: 'reports' }).express());
shed.protect(app.listen(0)).close();
shed.protect(createServer()).listen(0);
fastify().register(shed.fastify);
new Koa().use(shed.koa()).use((context) => void (context.body = shed.metrics()));

const state: State = shed.state();
const figures: number = state.limit + shed.lag() + shed.saturation;
shed.close();
export default figures;

// @ts-expect-error: an unknown option
plimsoll({ patiance: 3 });
// @ts-expect-error: a priority is one of four words
plimsoll({ priority: () => 'urgent' });
// @ts-expect-error: no server
plimsoll().protect({});
