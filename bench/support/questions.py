# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All questions, in the order of the folders."""

import arenas.questions
import heap.questions
import heap_threads.questions
import levels.questions
import malloc.questions
import memory.questions
import objects.questions
import pointers.questions
import pool_threads.questions
import pools.questions
import tlsf.questions

FOLDERS = (pools, pool_threads, objects, pointers, arenas, tlsf, heap, heap_threads, malloc, memory, levels)
QUESTIONS = {name: question for folder in FOLDERS for name, question in folder.questions.QUESTIONS.items()}
FOLDER_OF = {name: folder.__name__ for folder in FOLDERS for name in folder.questions.QUESTIONS}
