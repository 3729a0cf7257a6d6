/* { "does": "a SharedArray reads like an array and is made once", "console": ["made", "3 b {\"id\":3} 1,2,3 1 true", "2 undefined c"] } */
import { SharedArray } from 'k6/data';
const users = new SharedArray('users', () => { console.log('made'); return [{ id: 1 }, { id: 2, n: 'b' }, { id: 3 }]; });
const words = new SharedArray('words', () => ['a', 'c']);
export default function () {
  console.log(users.length, users[1].n, JSON.stringify(users[2]), users.map((u) => u.id).join(), users.find((u) => u.id < 2).id, [...users].length === 3);
  let last;
  for (const word of words) last = word;
  console.log(words.length, words[5], last);
}
