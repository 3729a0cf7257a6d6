/* { "does": "json() parses the body, json(path) selects from it", "console": ["Ann 37 b 3 1", "[\"Bo\",\"Cy\"] Bo undefined null"] } */
import http from 'k6/http';
export default function () {
  const res = http.get('http://h.test/json');
  console.log(res.json().name, res.json('age'), res.json('tags.1'), res.json('tags.#'), res.json('a\\.b'));
  console.log(JSON.stringify(res.json('friends.#.n')), res.json('friends.#(age>40).n'), res.json('nope.x'), res.json('nil'));
}
