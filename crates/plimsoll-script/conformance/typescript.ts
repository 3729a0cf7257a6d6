/* { "does": "types are taken out of .ts files; enums and classes work", "console": ["2 x 200", "main"], "options": {"vus": 1} } */
import http, { Response } from 'k6/http';
import { Options } from 'k6/options';
import { name, Shape } from './data/types.ts';

enum Kind { One = 1, Two }
class Box<T> { constructor(private readonly value: T) {} get(): T { return this.value; } }

export const options: Options = { vus: 1 };

export default function (data?: Shape): void {
  const res: Response = http.get('http://h.test/');
  console.log(Kind.Two, new Box<string>('x').get(), res.status as number);
  console.log(name satisfies string);
}
