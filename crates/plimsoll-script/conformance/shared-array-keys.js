/* { "does": "a SharedArray has the keys of an array", "console": ["0 1", "0,1", "0,a 1,b", "{\"0\":\"a\",\"1\":\"b\"}", "true false true false 2", "[]"] } */
import { SharedArray } from 'k6/data';
const words = new SharedArray('words', () => ['a', 'b']);
const none = new SharedArray('none', () => []);
export default function () {
  const keys = [];
  for (const key in words) keys.push(key);
  console.log(keys.join(' '));
  console.log(Object.keys(words).join());
  console.log(Object.entries(words).join(' '));
  console.log(JSON.stringify({ ...words }));
  const own = (key) => Object.hasOwn(words, key);
  console.log(own('1'), own('2'), own('length'), own('map'), Object.getOwnPropertyDescriptor(words, 'length').value);
  console.log(JSON.stringify(Object.keys(none)));
}
