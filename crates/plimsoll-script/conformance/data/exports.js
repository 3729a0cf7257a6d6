#!/usr/bin/env k6
import { name } from './named.js'; const [one, { two = 2 }] = [1, {}]
export default class { }
export class Named { }
const three = one + two; export { three, three as 'odd name' }
export function star() { return name; }
export * as inner from './named.js';
