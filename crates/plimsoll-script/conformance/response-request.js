/* { "does": "res.request tells what was sent", "k6": "the name of the program", "console": ["POST http://h.test/p a=1 application/x-www-form-urlencoded true"] } */
import http from 'k6/http';
export default function () {
  const { request } = http.post('http://h.test/p', { a: 1 });
  console.log(request.method, request.url, request.body, request.headers['Content-Type'][0], request.headers['User-Agent'][0].startsWith('plimsoll/'));
}
