// Types for `import`.
export { plimsoll, Plimsoll } from './dist/index.js';
export type { Options, Priority, State } from './dist/index.js';
export { plimsoll as default } from './dist/index.js';
