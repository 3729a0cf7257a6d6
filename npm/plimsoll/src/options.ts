// Every option once: its type, default, check and meaning. The types, the errors and the table of the README follow from it.

import type { IncomingMessage } from 'node:http';
import { CLASSES, type Priority } from './admission/classes.js';
import { hint } from './nearest.js';

interface Option<T> {
  /** As the README shows it. */
  readonly type: string;
  readonly value: T;
  readonly about: string;
  /** What is wrong with a value, or nothing. */
  readonly problem: (value: unknown) => string | undefined;
}

function option<T>(type: string, value: T, problem: Option<T>['problem'], about: string): Option<T> {
  return { type, value, problem, about };
}

function whole(least: number, most: number): Option<number>['problem'] {
  return (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most
      ? undefined
      : `is no whole number from ${least} to ${most}`;
}

const isBoolean = (value: unknown) => (typeof value === 'boolean' ? undefined : 'is neither true nor false');
const isToken = (value: unknown) => typeof value === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(value);

type Limit = 'half-load' | number;
type PriorityOf = string | ((req: IncomingMessage) => Priority | undefined);
type Skip = (req: IncomingMessage) => boolean;

export const OPTIONS = {
  limit: option<Limit>(
    "`'half-load'` or a number",
    'half-load',
    (value) => (value === 'half-load' ? undefined : whole(1, 20_000)(value)?.concat(", nor 'half-load'")),
    'how many requests may be worked on at once; unless given it is learned from what they bring',
  ),
  patience: option<number>(
    'milliseconds',
    250,
    whole(1, 60_000),
    'the longest wait for that; the more is asked, the fewer wait',
  ),
  priority: option<PriorityOf | undefined>(
    'header or function',
    undefined,
    (value) => (typeof value === 'function' || isToken(value) ? undefined : 'is neither the name of a header nor a function'),
    `who goes first: ${CLASSES.map((name) => `\`${name}\``).join(', ')}; of a header only where clients are trusted. All are \`default\` unless given`,
  ),
  skip: option<Skip | undefined>(
    'function',
    undefined,
    (value) => (typeof value === 'function' ? undefined : 'is no function'),
    'true for requests that are neither limited nor counted: health checks, streams that never end',
  ),
  status: option<number>(
    'status',
    503,
    whole(400, 599),
    'of a refusal',
  ),
  retryAfterMost: option<number>(
    'seconds',
    30,
    whole(1, 86_400),
    'the longest `Retry-After`; it is spread at random, so that who was refused together does not come again together',
  ),
  loadHeader: option<boolean>(
    'true or false',
    true,
    isBoolean,
    '`Endpoint-Load-Metrics` on every answer: how full this process is, for balancers',
  ),
  lateMost: option<number>(
    'milliseconds',
    125,
    whole(10, 60_000),
    'a loop that is busy all the time and later than this, pauses for garbage not counted, is overloaded',
  ),
  dryRun: option<boolean>(
    'true or false',
    false,
    isBoolean,
    'refuse and delay nobody, count who would be refused',
  ),
  name: option<string>(
    'text',
    'default',
    (value) => (typeof value === 'string' && /^[\w.-]{1,64}$/.test(value) ? undefined : 'is no name of 1 to 64 letters, digits, dots, dashes'),
    'of this instance in metrics, where there are several',
  ),
} as const;

type Table = typeof OPTIONS;
type ValueOf<T> = T extends Option<infer V> ? V : never;

/** What may be given. */
export type Options = { [K in keyof Table]?: Exclude<ValueOf<Table[K]>, undefined> };
/** What is in force. */
export type Settings = { readonly [K in keyof Table]: ValueOf<Table[K]> };

/** The given options over the defaults; throws a TypeError that names the option and what is wrong with it. */
export function settings(given: Options = {}): Settings {
  if (typeof given !== 'object' || given === null) {
    throw new TypeError('plimsoll: options must be an object');
  }
  const known = Object.keys(OPTIONS);
  const chosen: Record<string, unknown> = {};
  for (const name of known) {
    chosen[name] = OPTIONS[name as keyof Table].value;
  }
  for (const [name, value] of Object.entries(given)) {
    if (!known.includes(name)) {
      throw new TypeError(`plimsoll: there is no option \`${name}\`${hint(name, known)} There are ${known.join(', ')}`);
    }
    if (value === undefined) {
      continue;
    }
    const problem = OPTIONS[name as keyof Table].problem(value);
    if (problem !== undefined) {
      throw new TypeError(`plimsoll: \`${name}\`: ${shown(value)} ${problem}`);
    }
    chosen[name] = value;
  }
  return chosen as Settings;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}

/** The table of the README. */
export function optionsTable(): string {
  const rows = Object.entries(OPTIONS).map(([name, { type, value, about }]) => {
    const shown = value === undefined ? '' : typeof value === 'string' ? `\`'${value}'\`` : `\`${String(value)}\``;
    return `| \`${name}\` | ${type} | ${shown} | ${about} |`;
  });
  return ['| option | value | default | meaning |', '|---|---|---|---|', ...rows].join('\n');
}
